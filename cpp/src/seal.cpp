// Joins the files of a run: orders sessions, resolves metadata and restarts, and lays the rows out tag by
// tag.
#include "seal.hpp"

#include <algorithm>
#include <cstring>
#include <map>

namespace tbq {
namespace {

// Shorter pieces are copied together, so that a table has few chunks; longer ones are handed over as they
// are.
constexpr uint64_t kDirect = 4096;

}  // namespace

// One series of one part: scalars or blobs, with its segments mapped to the run's sessions.
struct Sealer::Source {
  ScalarSeries* scalars = nullptr;
  const BlobSeries* blobs = nullptr;
  const std::vector<uint32_t>* sessions = nullptr;  // of the part's sessions, their places in the order
  size_t part = 0;                                  // a session may run through several parts of its file
  const std::vector<Segment>& segments() const {
    return scalars ? scalars->segments.all : blobs->segments.all;
  }
};

struct Sealer::Ordered {
  uint32_t base = 0;  // where this run's sessions begin in the report
  std::vector<RunSession> sessions;
  std::vector<int64_t> starts;
};

namespace {

struct Place {
  SegmentRef ref;
  size_t source = 0;
  size_t part = 0;
};

// Joins the sessions of parts: one that continues is the same as the last one of the part before.
std::vector<RunSession> join_sessions(const std::vector<std::shared_ptr<Part>>& parts,
                                      const std::vector<FileReport>& files,
                                      std::vector<std::vector<uint32_t>>& places) {
  std::vector<RunSession> joined;
  for (const auto& part : parts) {
    std::vector<uint32_t>& mine = places.emplace_back();
    for (const Session& session : part->sessions) {
      if (session.continues && !joined.empty() && joined.back().file == part->file) {
        RunSession& whole = joined.back();
        if (session.timed) {
          if (!whole.timed) whole.begin = session.begin;
          whole.end = whole.timed ? std::max(whole.end, session.end) : session.end;
          whole.timed = true;
        }
        if (session.has_start) {
          whole.start_step =
              whole.has_start ? std::min(whole.start_step, session.start_step) : session.start_step;
          whole.has_start = true;
        }
      } else {
        joined.push_back({part->file, files[part->file].path, session.offset, session.begin, session.end,
                          session.timed, session.has_start, session.start_step});
      }
      mine.push_back(static_cast<uint32_t>(joined.size() - 1));
    }
  }
  return joined;
}

void note_sessions(uint32_t run, const std::vector<std::shared_ptr<Part>>& parts,
                   const std::vector<std::vector<uint32_t>>& places, std::span<const RunSession> ordered,
                   std::vector<SessionReport>& out) {
  const size_t base = out.size();
  for (const RunSession& one : ordered) {
    SessionReport report;
    report.run = run;
    report.file = one.file;
    report.offset = one.offset;
    report.begin = one.begin;
    report.end = one.end;
    report.timed = one.timed;
    report.has_start = one.has_start;
    report.start_step = one.start_step;
    out.push_back(report);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    for (size_t j = 0; j < parts[i]->sessions.size(); ++j) {
      const Session& from = parts[i]->sessions[j];
      SessionReport& to = out[base + places[i][j]];
      to.records += from.records;
      if (from.values == 0) continue;
      if (to.values == 0) {
        to.first_step = from.first_step;
        to.max_step = from.max_step;
      }
      to.values += from.values;
      to.last_step = from.last_step;
      to.max_step = std::max(to.max_step, from.max_step);
    }
  }
}

void note_segments(size_t series, uint32_t base, const std::vector<Place>& places,
                   std::span<const RunSession> sessions, std::span<const int64_t> starts,
                   std::vector<SegmentReport>& out) {
  std::vector<SegmentRef> refs;
  for (const Place& place : places) refs.push_back(place.ref);
  const std::vector<int64_t> limits = resume_limits(sessions, refs, starts);
  for (size_t i = 0; i < refs.size(); ++i) {
    const Segment& from = *refs[i].segment;
    out.push_back({static_cast<uint32_t>(series), base + refs[i].session, from.count, from.first_step,
                   from.last_step, from.min_step, from.max_step, from.first_wall, from.last_wall, limits[i]});
  }
}

}  // namespace

void Sealer::seal(uint32_t run, const std::vector<std::shared_ptr<Part>>& parts,
                  const std::vector<FileReport>& files) {
  std::vector<std::vector<uint32_t>> places;
  const std::vector<RunSession> joined = join_sessions(parts, files, places);
  const std::vector<uint32_t> order = order_sessions(joined, options_.restarts == Restarts::tensorboard);
  std::vector<uint32_t> rank(order.size());
  Ordered sessions;
  for (uint32_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = i;
    sessions.sessions.push_back(joined[order[i]]);
  }
  for (auto& mine : places) {
    for (uint32_t& place : mine) place = rank[place];
  }
  sessions.starts = start_limits(sessions.sessions);
  sessions.base = static_cast<uint32_t>(session_reports.size());
  if (options_.details) note_sessions(run, parts, places, sessions.sessions, session_reports);

  // Parts by the place of their first session, so that "first" metadata is that of the first session.
  std::vector<size_t> by_time(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) by_time[i] = i;
  std::stable_sort(by_time.begin(), by_time.end(),
                   [&](size_t a, size_t b) { return places[a][0] < places[b][0]; });

  std::vector<std::pair<std::string_view, std::pair<size_t, TagEntry*>>> entries;
  for (size_t i : by_time) {
    for (const auto& entry : parts[i]->tags.all) entries.push_back({entry->tag, {i, entry.get()}});
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });

  bool blobs_kept = false;
  reserve_blobs(parts);
  for (size_t first = 0; first < entries.size();) {
    size_t last = first;
    while (last < entries.size() && entries[last].first == entries[first].first) ++last;
    SeriesReport report;
    report.run = run;
    report.tag = entries[first].first;
    const TagEntry* known = nullptr;
    for (size_t i = first; i < last; ++i) {
      const TagEntry* entry = entries[i].second.second;
      report.selected = entry->selected;
      report.rounded += entry->rounded;
      report.refused += entry->refused;
      if (report.dtype == 0) report.dtype = entry->dtype;
      if (entry->has_metadata && !known) known = entry;
    }
    const Kind pending = known ? known->kind : Kind::tensors;
    if (known) {
      report.metadata = known->metadata;
      report.metadata_bytes.assign(reinterpret_cast<const char*>(known->metadata_bytes),
                                   known->metadata_length);
    }
    std::vector<Source> numbers;
    std::map<Kind, std::vector<Source>> others;
    for (size_t i = first; i < last; ++i) {
      const auto& [part, entry] = entries[i].second;
      const auto* mine = &places[part];
      if (!entry->pending_scalars.segments.all.empty() && pending == Kind::scalars) {
        numbers.push_back({&entry->pending_scalars, nullptr, mine, part});
      }
      if (!entry->scalars.segments.all.empty()) numbers.push_back({&entry->scalars, nullptr, mine, part});
      // Under a plugin of scalars, a tensor that is no number is still a tensor.
      const BlobSeries& waiting = pending == Kind::scalars ? entry->pending_refused : entry->pending_blobs;
      if (!waiting.segments.all.empty()) {
        others[pending == Kind::scalars ? Kind::tensors : pending].push_back({nullptr, &waiting, mine, part});
      }
      if (pending == Kind::scalars) {
        for (const Segment& segment : waiting.segments.all) report.refused += segment.count;
      }
      for (const auto& [kind, from] : entry->blobs) {
        if (!from.segments.all.empty())
          others[static_cast<Kind>(kind)].push_back({nullptr, &from, mine, part});
      }
    }
    if (!numbers.empty()) {
      SeriesReport mine = report;
      mine.kind = Kind::scalars;
      seal_scalars(mine, numbers, sessions);
      series.push_back(std::move(mine));
    }
    for (auto& [kind, sources] : others) {
      SeriesReport mine = report;
      mine.kind = kind;
      mine.rounded = 0;
      seal_blobs(mine, sources, sessions);
      blobs_kept = blobs_kept || mine.rows > 0;
      series.push_back(std::move(mine));
    }
    for (size_t i = first; i < last; ++i) {
      entries[i].second.second->scalars.release(pool_);
      entries[i].second.second->pending_scalars.release(pool_);
      entries[i].second.second->pending_blobs.rows.release(pool_);
      entries[i].second.second->pending_refused.rows.release(pool_);
      for (auto& [kind, from] : entries[i].second.second->blobs) from.rows.release(pool_);
    }
    first = last;
  }
  if (blobs_kept) held.insert(held.end(), parts.begin(), parts.end());
}

namespace {

// The segments of all sources in the order of sessions, and the totals over them.
template <class Sources>
std::vector<Place> place_segments(const Sources& sources, SeriesReport& report) {
  std::vector<Place> places;
  for (size_t s = 0; s < sources.size(); ++s) {
    for (const Segment& segment : sources[s].segments()) {
      if (segment.count > 0) {
        places.push_back({{&segment, (*sources[s].sessions)[segment.session]}, s, sources[s].part});
      }
    }
  }
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::pair(a.ref.session, a.part) < std::pair(b.ref.session, b.part);
  });
  for (const Place& place : places) {
    const Segment& segment = *place.ref.segment;
    if (report.count == 0) {
      report.first_step = segment.first_step;
      report.first_wall = segment.first_wall;
      report.min_step = segment.min_step;
      report.max_step = segment.max_step;
    }
    report.count += segment.count;
    report.last_step = segment.last_step;
    report.last_wall = segment.last_wall;
    report.min_step = std::min(report.min_step, segment.min_step);
    report.max_step = std::max(report.max_step, segment.max_step);
  }
  return places;
}

void note_dropped(SeriesReport& report, int64_t step) {
  if (report.dropped++ == 0) report.dropped_first = report.dropped_last = step;
  report.dropped_first = std::min(report.dropped_first, step);
  report.dropped_last = std::max(report.dropped_last, step);
}

// Calls keep(place, begin, end) for each run of kept rows, in order. `step_of(place, row)` gives a stored
// row's step.
template <class StepOf, class Keep>
void resolve(const DecodeOptions& options, const std::vector<Place>& places,
             std::span<const RunSession> sessions, std::span<const int64_t> starts, SeriesReport& report,
             StepOf&& step_of, Keep&& keep) {
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
      return;
    case Restarts::resume: {
      std::vector<SegmentRef> refs;
      for (const Place& place : places) refs.push_back(place.ref);
      const std::vector<int64_t> limits = resume_limits(sessions, refs, starts);
      for (size_t i = 0; i < places.size(); ++i) {
        const Segment& segment = *places[i].ref.segment;
        if (segment.max_step < limits[i] || limits[i] == kNoLimit) {
          keep(places[i], segment.begin, segment.end);
          continue;
        }
        filtered(places[i], [&](uint64_t row) {
          const int64_t step = step_of(places[i], row);
          if (step < limits[i]) return true;
          note_dropped(report, step);
          return false;
        });
      }
      return;
    }
    case Restarts::last:
    case Restarts::tensorboard: {
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
          if (!kept[row] && wanted) note_dropped(report, steps[row]);
          return kept[row] && wanted;
        });
      }
      return;
    }
  }
}

}  // namespace

void Sealer::seal_scalars(SeriesReport& report, std::vector<Source>& sources, const Ordered& sessions) {
  const std::vector<Place> places = place_segments(sources, report);
  if (options_.details) {
    note_segments(series.size(), sessions.base, places, sessions.sessions, sessions.starts, segment_reports);
  }
  const auto step_of = [&](const Place& place, uint64_t row) {
    // The first chunk grows by copying; each one behind it but the last is full.
    const auto& chunks = sources[place.source].scalars->chunks;
    if (row < chunks[0].rows) return chunks[0].steps()[row];
    row -= chunks[0].rows;
    return chunks[1 + row / Pool::kLargest].steps()[row % Pool::kLargest];
  };
  resolve(options_, places, sessions.sessions, sessions.starts, report, step_of,
          [&](const Place& place, uint64_t begin, uint64_t end) {
            report.rows += end - begin;
            emit(*sources[place.source].scalars, begin, end);
          });
}

// Room for the rows of a run, but for those whose kind is yet to be found.
void Sealer::reserve_blobs(const std::vector<std::shared_ptr<Part>>& parts) {
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

void Sealer::seal_blobs(SeriesReport& report, std::vector<Source>& sources, const Ordered& sessions) {
  const std::vector<Place> places = place_segments(sources, report);
  if (options_.details) {
    note_segments(series.size(), sessions.base, places, sessions.sessions, sessions.starts, segment_reports);
  }
  const auto rows_of = [&](const Place& place) -> const BlobRows& {
    return sources[place.source].blobs->rows;
  };
  BlobTable& out = blobs[static_cast<size_t>(report.kind)];
  resolve(
      options_, places, sessions.sessions, sessions.starts, report,
      [&](const Place& place, uint64_t row) { return rows_of(place)[row].step; },
      [&](const Place& place, uint64_t begin, uint64_t end) {
        report.rows += end - begin;
        for (uint64_t row = begin; row < end; ++row) {
          out.push_back(rows_of(place)[row]);
          out.back().run = report.run;
          out.back().tag = static_cast<uint32_t>(series.size());
        }
      });
}

void Sealer::emit(ScalarSeries& from, uint64_t begin, uint64_t end) {
  uint64_t first = 0;
  for (ScalarChunk& chunk : from.chunks) {
    const uint64_t low = std::max(begin, first);
    const uint64_t high = std::min(end, first + chunk.rows);
    if (low < high) {
      const auto offset = static_cast<uint32_t>(low - first);
      const auto rows = static_cast<uint32_t>(high - low);
      if (rows >= kDirect) {
        close();
        ScalarBatch batch;
        batch.owner = chunk.block.slab;
        batch.steps = chunk.steps() + offset;
        batch.walls = chunk.walls() + offset;
        batch.values = chunk.values() + offset;
        batch.rows = rows;
        batch.spans.push_back({static_cast<uint32_t>(series.size()), rows});
        scalars.push_back(std::move(batch));
        chunk.block.handed = true;
      } else {
        copy_rows(chunk, offset, rows);
      }
    }
    first += chunk.rows;
    if (first >= end) break;
  }
}

void Sealer::copy_rows(const ScalarChunk& chunk, uint32_t begin, uint32_t rows) {
  while (rows > 0) {
    if (packed_rows_ == packed_.rows) {
      const uint32_t size = std::min(std::max(packed_.rows * 4, Pool::kFirst * 4), Pool::kLargest);
      close();
      packed_ = pool_.take(size);
    }
    const uint32_t count = std::min(rows, packed_.rows - packed_rows_);
    ScalarChunk to{packed_, 0};
    std::memcpy(to.steps() + packed_rows_, chunk.steps() + begin, count * sizeof(int64_t));
    if (to.has_walls()) {
      std::memcpy(to.walls() + packed_rows_, chunk.walls() + begin, count * sizeof(double));
    }
    std::memcpy(to.values() + packed_rows_, chunk.values() + begin, count * sizeof(double));
    const auto mine = static_cast<uint32_t>(series.size());
    if (!packed_spans_.empty() && packed_spans_.back().series == mine) {
      packed_spans_.back().rows += count;
    } else {
      packed_spans_.push_back({mine, count});
    }
    packed_rows_ += count;
    begin += count;
    rows -= count;
  }
}

// Ends the batch of copied rows.
void Sealer::close() {
  if (packed_rows_ == 0) return;
  const ScalarChunk from{packed_, 0};
  ScalarBatch batch;
  batch.owner = packed_.slab;
  batch.steps = from.steps();
  batch.walls = from.walls();
  batch.values = from.values();
  batch.rows = packed_rows_;
  batch.spans = std::move(packed_spans_);
  scalars.push_back(std::move(batch));
  packed_spans_.clear();
  packed_ = {};
  packed_rows_ = 0;
}

}  // namespace tbq
