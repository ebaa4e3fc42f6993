// Joins the parts of a run: resolves restarts, and lays the rows out tag by tag.
#include "decode/join.hpp"

#include <algorithm>
#include <iterator>
#include <map>

namespace tbq {

// One series of one part: scalars or blobs, with its segments mapped to the run's sessions.
struct Joiner::Source {
  ScalarSeries* scalars = nullptr;
  const BlobSeries* blobs = nullptr;
  size_t part = 0;  // a session may continue through several parts of its file
  const std::vector<Segment>& segments() const {
    return scalars ? scalars->segments.all : blobs->segments.all;
  }
};

namespace {

struct Place {
  SegmentRef ref;
  size_t source = 0;
  size_t part = 0;
};

void report_sessions(uint32_t run, const Parts& parts, const RunSessions& sessions,
                     std::vector<SessionReport>& out) {
  const size_t base = out.size();
  for (const RunSession& session : sessions.ordered) {
    SessionReport report;
    report.run = run;
    report.file = session.file;
    report.offset = session.offset;
    report.times = session.times;
    report.start = session.start;
    out.push_back(report);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    for (size_t j = 0; j < parts[i]->sessions.size(); ++j) {
      const Session& from = parts[i]->sessions[j];
      SessionReport& to = out[base + sessions.places[i][j]];
      to.headed = to.headed || from.headed;
      to.records += from.records;
      to.steps.merge(from.steps);
    }
  }
}

void report_segments(size_t series, uint32_t base, const std::vector<Place>& places,
                     const RunSessions& sessions, std::vector<SegmentReport>& out) {
  std::vector<SegmentRef> refs;
  for (const Place& place : places) refs.push_back(place.ref);
  const std::vector<int64_t> limits = resume_limits(sessions.ordered, refs, sessions.starts);
  for (size_t i = 0; i < refs.size(); ++i) {
    out.push_back({static_cast<uint32_t>(series), base + refs[i].session, refs[i].segment->seen, limits[i]});
  }
}

}  // namespace

bool Joiner::add(uint32_t run, const Parts& parts, const RunSessions& sessions, bool stored) {
  const size_t series_before = series.size();
  const size_t sessions_before = session_reports.size();
  const size_t segments_before = segment_reports.size();
  session_base_ = static_cast<uint32_t>(sessions_before);
  uncounted_ = blobs_kept_ = false;
  if (options_.session_tables) report_sessions(run, parts, sessions, session_reports);

  std::vector<TagOfPart> entries;
  for (size_t part = 0; part < parts.size(); ++part) {
    for (const auto& entry : parts[part]->tags.all) entries.push_back({part, entry.get()});
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const TagOfPart& a, const TagOfPart& b) { return a.entry->tag < b.entry->tag; });

  reserve_blobs(parts);
  for (size_t first = 0; first < entries.size();) {
    size_t last = first;
    while (last < entries.size() && entries[last].entry->tag == entries[first].entry->tag) ++last;
    const auto of_tag = std::span(entries).subspan(first, last - first);
    if (is_new(of_tag, parts)) add_series(of_tag, run, sessions);
    if (uncounted_ && !stored) {
      series.resize(series_before);
      session_reports.resize(sessions_before);
      segment_reports.resize(segments_before);
      return false;
    }
    for (size_t i = first; i < last && !keeps_parts_; ++i) {
      entries[i].entry->scalars.release(pool_);
      for (auto& [kind, from] : entries[i].entry->blobs) from.rows.release(pool_);
    }
    first = last;
  }
  if (blobs_kept_) held.insert(held.end(), parts.begin(), parts.end());
  return true;
}

// Whether rows of a tag may have become visible or invisible.
bool Joiner::is_new(std::span<const TagOfPart> entries, const Parts& parts) const {
  if (!delivery_ || delivery_->all || delivery_->stale.contains(entries[0].entry->tag)) return true;
  return std::any_of(entries.begin(), entries.end(), [&](const TagOfPart& entry) {
    return delivery_->fresh.contains(parts[entry.part].get());
  });
}

// Of values that were not asked for, only the existence is known: large records of them may have been
// skipped.
bool Joiner::counted(const SeriesReport& report) const {
  if (options_.count) return report.selected;
  if (options_.session_tables || options_.verify) return true;
  return report.selected && (options_.kinds & bit(report.kind)) != 0;
}

// Adds the series of one tag, one per kind of its values.
void Joiner::add_series(std::span<const TagOfPart> entries, uint32_t run, const RunSessions& sessions) {
  SeriesReport report;
  report.run = run;
  report.tag = entries[0].entry->tag;
  if (const SessionMetadata* known = first_metadata(entries, sessions)) {
    report.metadata = *known->parsed;
    report.metadata_bytes = as_text(known->bytes);
  } else if (const KnownTags* elsewhere = options_.known_tags(run)) {
    if (const auto stated = elsewhere->find(report.tag); stated != elsewhere->end()) {
      report.metadata = stated->second.parsed;
      report.metadata_bytes = stated->second.bytes;
    }
  }
  std::vector<Source> numbers;
  std::map<Kind, std::vector<Source>> others;
  for (const auto& [part, entry] : entries) {
    report.selected = entry->selected;
    report.rounded += entry->rounded;
    report.refused += entry->refused;
    if (report.dtype == 0) report.dtype = entry->dtype;
    const auto wanted = [&](Kind kind) { return !keeps_parts_ || (options_.kinds & bit(kind)) != 0; };
    if (!entry->scalars.segments.all.empty() && wanted(Kind::scalars))
      numbers.push_back({&entry->scalars, nullptr, part});
    for (const auto& [kind, from] : entry->blobs) {
      if (!from.segments.all.empty() && wanted(static_cast<Kind>(kind)))
        others[static_cast<Kind>(kind)].push_back({nullptr, &from, part});
    }
  }
  if (!numbers.empty()) {
    SeriesReport of_kind = report;
    of_kind.kind = Kind::scalars;
    add_scalars(of_kind, numbers, sessions);
    if (!counted(of_kind)) of_kind.seen = {};
    series.push_back(std::move(of_kind));
  }
  for (auto& [kind, sources] : others) {
    SeriesReport of_kind = report;
    of_kind.kind = kind;
    of_kind.rounded = 0;
    add_blobs(of_kind, sources, sessions);
    blobs_kept_ = blobs_kept_ || of_kind.rows > 0;
    if (!counted(of_kind)) of_kind.seen = {};
    series.push_back(std::move(of_kind));
  }
}

namespace {

// The segments of all sources in the order of sessions.
template <class Sources>
std::vector<Place> place_segments(const Sources& sources, const RunSessions& sessions) {
  std::vector<Place> places;
  for (size_t s = 0; s < sources.size(); ++s) {
    const size_t part = sources[s].part;
    for (const Segment& segment : sources[s].segments()) {
      if (segment.seen.steps.count > 0) {
        places.push_back({{&segment, sessions.places[part][segment.session]}, s, part});
      }
    }
  }
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::pair(a.ref.session, a.part) < std::pair(b.ref.session, b.part);
  });
  return places;
}

// Whether each row's step is larger than that of the row before it, as in a run without restarts.
template <class StepOf>
bool rising(const std::vector<Place>& places, StepOf&& step_of) {
  bool any = false;
  int64_t last = 0;
  for (const Place& place : places) {
    for (uint64_t row = place.ref.segment->begin; row < place.ref.segment->end; ++row) {
      const int64_t step = step_of(place, row);
      if (any && step <= last) return false;
      any = true;
      last = step;
    }
  }
  return true;
}

// Calls keep(place, begin, end) for each stretch of stored rows that stays, in order. `step_of(place, row)`
// returns a stored row's step. Returns false if rows that are not stored would have to be dropped.
template <class StepOf, class Keep>
bool resolve(const DecodeOptions& options, const std::vector<Place>& places, const RunSessions& sessions,
             SeriesReport& report, StepOf&& step_of, Keep&& keep) {
  const auto filtered = [&](const Place& place, auto&& kept) {
    const Segment& segment = *place.ref.segment;
    uint64_t begin = segment.begin;
    for (uint64_t row = segment.begin; row < segment.end; ++row) {
      if (kept(row)) continue;
      if (row > begin) keep(place, begin, row);
      begin = row + 1;
    }
    if (segment.end > begin) keep(place, begin, segment.end);
  };
  switch (options.restarts) {
    case Restarts::keep:
      for (const Place& place : places) keep(place, place.ref.segment->begin, place.ref.segment->end);
      return true;
    case Restarts::resume: {
      std::vector<SegmentRef> refs;
      for (const Place& place : places) refs.push_back(place.ref);
      const std::vector<int64_t> limits = resume_limits(sessions.ordered, refs, sessions.starts);
      bool all_stored = true;
      for (size_t i = 0; i < places.size(); ++i) {
        const Segment& segment = *places[i].ref.segment;
        if (segment.seen.steps.max < limits[i] || limits[i] == kNoLimit) {
          keep(places[i], segment.begin, segment.end);
          continue;
        }
        if (options.count && segment.begin == segment.end) {
          all_stored = false;
          continue;
        }
        filtered(places[i], [&](uint64_t row) {
          const int64_t step = step_of(places[i], row);
          if (step < limits[i]) return true;
          report.dropped.add(step);
          return false;
        });
      }
      return all_stored;
    }
    case Restarts::last:
    case Restarts::tensorboard: {
      if (options.first_step == INT64_MIN && options.last_step == INT64_MAX && rising(places, step_of)) {
        for (const Place& place : places) keep(place, place.ref.segment->begin, place.ref.segment->end);
        return true;
      }
      std::vector<int64_t> steps;
      for (const Place& place : places) {
        for (uint64_t row = place.ref.segment->begin; row < place.ref.segment->end; ++row) {
          steps.push_back(step_of(place, row));
        }
      }
      const std::vector<bool> kept =
          options.restarts == Restarts::last ? keep_last(steps) : keep_tensorboard(steps);
      size_t next = 0;
      for (const Place& place : places) {
        filtered(place, [&](uint64_t) {
          const size_t row = next++;
          const bool wanted = steps[row] >= options.first_step && steps[row] <= options.last_step;
          if (!kept[row] && wanted) report.dropped.add(steps[row]);
          return kept[row] && wanted;
        });
      }
      return true;
    }
  }
  return true;
}

// Counts the rows of a series that stay. If a segment keeps all its rows, they need not be stored.
template <class RowOf>
void count_rows(const Place& place, uint64_t begin, uint64_t end, SeriesReport& report, RowOf&& row_of) {
  const Segment& segment = *place.ref.segment;
  if (begin == segment.begin && end == segment.end) {
    report.seen.merge(segment.seen);
    return;
  }
  for (uint64_t row = begin; row < end; ++row) {
    const auto [step, wall] = row_of(place, row);
    report.seen.add(step, wall);
  }
}

// Delivers rows that were not delivered before, and retracts rows that are no longer visible.
template <class StepOf, class Give, class RowOf>
void deliver(Delivery& delivery, const DecodeOptions& options, const std::vector<Place>& places,
             const RunSessions& sessions, SeriesReport& report, StepOf&& step_of, Give&& give,
             RowOf&& row_of) {
  std::vector<Stretches> visible(places.size());
  const bool hidden = delivery.hidden && delivery.hidden->contains({report.kind, report.tag});
  resolve(options, places, sessions, report, step_of, [&](const Place& place, uint64_t begin, uint64_t end) {
    if (begin < end && !hidden) visible[static_cast<size_t>(&place - places.data())].push_back({begin, end});
  });
  for (size_t i = 0; i < places.size(); ++i) {
    Stretches& before = delivery.delivered[places[i].ref.segment];  // the reference stays valid
    if (!delivery.silent && before.empty()) {                       // most rows are new
      for (const Stretch& stretch : visible[i]) give(places[i], stretch.begin, stretch.end);
    } else if (!delivery.silent) {
      for (const Stretch& stretch : minus(visible[i], before)) give(places[i], stretch.begin, stretch.end);
      for (const Stretch& stretch : minus(before, visible[i])) {
        for (uint64_t row = stretch.begin; row < stretch.end; ++row) {
          Delivery::Retracted& gone = delivery.retracted.emplace_back();
          gone.tag = report.tag;
          gone.kind = report.kind;
          row_of(places[i], row, gone);
        }
      }
    }
    if (visible[i] != before) delivery.visible.emplace_back(&before, std::move(visible[i]));
  }
}

}  // namespace

void Joiner::add_scalars(SeriesReport& report, std::vector<Source>& sources, const RunSessions& sessions) {
  const std::vector<Place> places = place_segments(sources, sessions);
  if (options_.session_tables)
    report_segments(series.size(), session_base_, places, sessions, segment_reports);
  if (!places.empty()) report.last_value = places.back().ref.segment->last_value;
  if (options_.count && !counted(report)) return;  // its rows are not stored
  const auto row_of = [&](const Place& place, uint64_t row) {
    return sources[place.source].scalars->row(row);
  };
  const auto step_of = [&](const Place& place, uint64_t row) { return row_of(place, row).step; };
  const auto give = [&](const Place& place, uint64_t begin, uint64_t end) {
    report.rows += end - begin;
    packer_.add(*sources[place.source].scalars, static_cast<uint32_t>(series.size()), begin, end);
  };
  if (!options_.count) {
    for (const Place& place : places) report.seen.merge(place.ref.segment->seen);
  }
  if (delivery_) {
    deliver(*delivery_, options_, places, sessions, report, step_of, give,
            [&](const Place& place, uint64_t row, Delivery::Retracted& gone) {
              const ScalarRow scalar = row_of(place, row);
              gone.step = scalar.step;
              gone.wall_time = scalar.wall_time;
              gone.value = scalar.value;
            });
    return;
  }
  uncounted_ = !resolve(options_, places, sessions, report, step_of,
                        [&](const Place& place, uint64_t begin, uint64_t end) {
                          if (!options_.count) return give(place, begin, end);
                          count_rows(place, begin, end, report, [&](const Place& of, uint64_t row) {
                            const ScalarRow scalar = row_of(of, row);
                            return std::pair(scalar.step, scalar.wall_time);
                          });
                        });
}

// Reserves room for the rows of a run.
void Joiner::reserve_blobs(const Parts& parts) {
  if (options_.count || delivery_) return;
  size_t rows[kKindCount] = {};
  for (const auto& part : parts) {
    for (const auto& entry : part->tags.all) {
      for (const auto& [kind, from] : entry->blobs) rows[kind] += from.rows.size();
    }
  }
  for (size_t kind = 0; kind < kKindCount; ++kind) {
    BlobTable& out = blobs[kind];
    if (out.capacity() - out.size() < rows[kind]) {
      out.reserve(std::max(out.size() + rows[kind], out.capacity() * 2));
    }
  }
}

void Joiner::add_blobs(SeriesReport& report, std::vector<Source>& sources, const RunSessions& sessions) {
  const std::vector<Place> places = place_segments(sources, sessions);
  if (options_.session_tables)
    report_segments(series.size(), session_base_, places, sessions, segment_reports);
  if (options_.count && !counted(report)) return;
  if (!options_.count) {
    for (const Place& place : places) report.seen.merge(place.ref.segment->seen);
  }
  const auto row_of = [&](const Place& place, uint64_t row) -> const BlobRow& {
    return sources[place.source].blobs->rows[row];
  };
  const auto step_of = [&](const Place& place, uint64_t row) { return row_of(place, row).step; };
  const auto give = [&](const Place& place, uint64_t begin, uint64_t end) {
    BlobTable& out = blobs[static_cast<size_t>(report.kind)];
    report.rows += end - begin;
    for (uint64_t row = begin; row < end; ++row) {
      out.push_back(row_of(place, row));
      out.back().run = report.run;
      out.back().tag = static_cast<uint32_t>(series.size());
    }
  };
  if (delivery_) {
    deliver(*delivery_, options_, places, sessions, report, step_of, give,
            [&](const Place& place, uint64_t row, Delivery::Retracted& gone) {
              gone.step = row_of(place, row).step;
              gone.wall_time = row_of(place, row).wall_time;
            });
    return;
  }
  const bool counted = resolve(options_, places, sessions, report, step_of,
                               [&](const Place& place, uint64_t begin, uint64_t end) {
                                 if (!options_.count) return give(place, begin, end);
                                 count_rows(place, begin, end, report, [&](const Place& of, uint64_t row) {
                                   return std::pair(row_of(of, row).step, row_of(of, row).wall_time);
                                 });
                               });
  uncounted_ = uncounted_ || !counted;
}

void append_rows(Result& to, Joiner& from) {
  const auto base = static_cast<uint32_t>(to.series.size());
  for (ScalarBatch& batch : from.scalars()) {
    for (auto& stretch : batch.stretches) stretch.series += base;
    to.scalars.push_back(std::move(batch));
  }
  for (size_t kind = 0; kind < kKindCount; ++kind) {
    if (base > 0) {
      for (BlobRow& row : from.blobs[kind]) row.tag += base;
    }
    auto& joined = to.blobs[kind];
    if (!joined) {
      joined = std::make_shared<BlobTable>(std::move(from.blobs[kind]));
    } else {
      joined->insert(joined->end(), from.blobs[kind].begin(), from.blobs[kind].end());
    }
  }
  const auto session_base = static_cast<uint32_t>(to.sessions.size());
  for (SegmentReport& segment : from.segment_reports) {
    segment.series += base;
    segment.session += session_base;
    to.segments.push_back(segment);
  }
  std::move(from.session_reports.begin(), from.session_reports.end(), std::back_inserter(to.sessions));
  std::move(from.series.begin(), from.series.end(), std::back_inserter(to.series));
  std::move(from.held.begin(), from.held.end(), std::back_inserter(to.parts));
}

}  // namespace tbq
