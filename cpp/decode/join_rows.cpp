// Decides which rows of a series stay, and lays them out: all rows, or those that a follower has not seen.
#include <algorithm>
#include <cmath>

#include "decode/join.hpp"

namespace tbq {
namespace {

struct Place {
  SegmentRef ref;
  size_t source = 0;
  size_t part = 0;
};

void report_segments(size_t series, uint32_t base, const std::vector<Place>& places,
                     const RunSessions& sessions, std::vector<SegmentReport>& out) {
  std::vector<SegmentRef> refs;
  for (const Place& place : places) refs.push_back(place.ref);
  const std::vector<int64_t> limits = resume_limits(sessions.ordered, refs, sessions.starts);
  for (size_t i = 0; i < refs.size(); ++i) {
    out.push_back({static_cast<uint32_t>(series), base + refs[i].session, refs[i].segment->seen, limits[i]});
  }
}

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

// Seconds per value in the last session; 0 if unknown. If the values have no times, the times of the session
// give an upper bound.
double pause_of(const std::vector<Place>& places, const RunSessions& sessions, bool has_times) {
  const uint32_t last = places.back().ref.session;
  Span seen;
  for (const Place& place : places) {
    if (place.ref.session == last) seen.merge(place.ref.segment->seen);
  }
  double seconds = seen.last_wall_time - seen.first_wall_time;
  if (!has_times) {
    const TimeSpan& times = sessions.ordered[last].times;
    seconds = times.known ? times.end - times.start() : 0;
  }
  const uint64_t values = seen.steps.count;
  return values > 1 && seconds > 0 && std::isfinite(seconds) ? seconds / static_cast<double>(values - 1) : 0;
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
  if (!places.empty()) {
    report.last_value = places.back().ref.segment->last_value;
    report.pause = pause_of(places, sessions, has(options_.columns, ScalarColumn::wall_time));
  }
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

}  // namespace tbq
