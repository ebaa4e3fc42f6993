// The decoder's hottest loop, in its own file: if it were inlined elsewhere, it would lose its registers.
#include "decode/fast_scalars.hpp"

#include <algorithm>
#include <cmath>

#include "event/head.hpp"

namespace tbq {

size_t FastScalars::store_matching(const Frame* frames, size_t count, Tally& total) {
  TagPredictor<TagEntry> predictor = predictor_;
  int64_t last = -1;  // read_head never returns this step
  int64_t min = INT64_MAX;
  int64_t max = INT64_MIN;
  double earliest = HUGE_VAL;
  double latest = -HUGE_VAL;
  size_t done = 0;
  for (; done < count; ++done) {
    const uint8_t* p = frames[done].payload;
    const uint8_t* const end = p + frames[done].length;
    double wall;
    int64_t step;
    if (!read_head(p, frames[done].length, wall, step)) break;
    const auto rest = static_cast<size_t>(end - p);
    TagEntry* entry = predictor.guess();
    if (!entry || !entry->scalar_template.fits(end, rest)) {
      if (entry && !entry->scalar_template.known()) break;  // the next event is probably not a scalar
      entry = look_up({p, rest});
      if (!entry || !entry->scalar_template.fits(end, rest)) break;
      predictor.correct(entry);
    }
    const double value = entry->scalar_template.number(p);
    if (entry->scalars.open == session_) {
      entry->scalars.append(pool_, step, wall, value);
    } else if (!entry->scalars.segments.is_open(session_)) {
      break;  // the first event of a session may carry more
    } else if (entry->scalars.skip != session_) {
      store(*entry, step, wall, value);
    }
    predictor.advance(entry);
    if (step != last) {  // many tags usually share one step
      last = step;
      min = std::min(min, step);
      max = std::max(max, step);
    }
    earliest = std::min(earliest, wall);
    latest = std::max(latest, wall);
  }
  predictor_ = predictor;
  if (done == 0) return 0;
  EventHead first;
  read_head(Bytes(frames[0].payload, frames[0].length), first);
  total.steps.merge({done, first.step, last, min, max});
  if (earliest > 0) {
    total.times.merge({latest > 0, first.wall_time, earliest, latest});
  } else {  // a wall time is absent, or before 1970
    for (size_t i = 0; i < done; ++i) total.times.add(load_le<double>(frames[i].payload + 1));
  }
  return done;
}

// Finds the tag of an event with one value by its bytes alone.
TagEntry* FastScalars::look_up(Bytes summary) const {
  Cursor cursor(summary);
  Bytes tag;
  return enter_sole_value(cursor, tag) ? tags_.find(as_text(tag)) : nullptr;
}

void FastScalars::store(TagEntry& entry, int64_t step, double wall, double value) {
  ScalarSeries& series = entry.scalars;
  const bool opened = series.segments.is_open(session_);
  if (!entry.selected) {  // of an unselected tag, only its existence is reported
    if (!opened) series.segments.note(session_, series.rows(), step, wall);
    series.skip = session_;
    return;
  }
  if (store_all_) {
    if (!opened) {
      series.segments.note(session_, series.rows(), step, wall);
      series.open = session_;
      series.whole = true;
    }
    series.append(pool_, step, wall, value);
    return;
  }
  series.segments.note(session_, series.rows(), step, wall);
  series.segments.set_last(value);
  if (store_ && step >= options_.first_step && step <= options_.last_step) {
    series.append(pool_, step, wall, value);
  }
}

void FastScalars::learn(TagEntry& entry, Bytes event, size_t slot, uint32_t width) {
  EventHead head;
  if (!read_head(event, head) || slot < head.size || event.size() - head.size > kLongestTemplate) return;
  // Only the summary may follow the step: store_matching() would miss anything else.
  Cursor summary(event.subspan(head.size));
  if (!enter_last(summary, kSummaryKey)) return;
  entry.scalar_template.learn(event.subspan(head.size), slot - head.size, width);
}

}  // namespace tbq
