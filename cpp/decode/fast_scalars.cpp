// The decoder's hottest loop, in a file of its own: inlined into another it would lose its registers.
#include "decode/fast_scalars.hpp"

#include "event/head.hpp"

namespace tbq {

size_t ScalarPath::take(const Frame* frames, size_t count, Tally& total) {
  Tally tally = total;
  TagEntry* guess = guess_;
  TagEntry* previous = previous_;
  size_t done = 0;
  for (; done < count; ++done) {
    const uint8_t* p = frames[done].payload;
    const uint8_t* const end = p + frames[done].length;
    if (frames[done].length < kShortestEvent || p[0] != kWallTime) break;
    const auto wall = load_le<double>(p + 1);
    p += 9;
    int64_t step = 0;
    if (*p == kStep && !short_varint(++p, step)) break;
    const auto rest = static_cast<size_t>(end - p);
    TagEntry* entry = guess;
    if (!entry || !entry->shape.fits(end, rest)) {
      if (entry && !entry->shape.known()) break;  // what comes next is most likely no scalar
      entry = look_up(p, rest);
      if (!entry || !entry->shape.fits(end, rest)) break;
      if (previous) previous->next = entry;
    }
    const double value = entry->shape.number(p);
    if (entry->scalars.open == session_) {
      entry->scalars.append(pool_, step, wall, value);
    } else if (!entry->scalars.segments.is_open(session_)) {
      break;  // the first of a session may say more
    } else if (entry->scalars.skip != session_) {
      keep(*entry, entry->scalars, step, wall, value);
    }
    previous = entry;
    guess = entry->next;
    if (tally.records++ == 0) tally.first_step = tally.max_step = step;
    tally.last_step = step;
    if (step > tally.max_step) tally.max_step = step;
    if (wall > tally.latest) tally.latest = wall;
    if (wall < tally.earliest && is_time(wall)) tally.earliest = wall;
  }
  guess_ = guess;
  previous_ = previous;
  total = tally;
  return done;
}

// The tag of an event of one value, found by its bytes alone: 2a length 0a length 0a length tag.
TagEntry* ScalarPath::look_up(const uint8_t* p, size_t size) const {
  Cursor cursor({p, size});
  uint64_t length = 0;
  Bytes tag;
  for (const uint64_t key : {uint64_t{kSummary}, uint64_t{0x0a}, uint64_t{0x0a}}) {
    uint64_t found = 0;
    if (!cursor.varint(found) || found != key || !cursor.varint(length)) return nullptr;
  }
  return cursor.take(length, tag) ? tags_.find(as_text(tag)) : nullptr;
}

void ScalarPath::keep(TagEntry& entry, ScalarSeries& series, int64_t step, double wall, double value) {
  const bool opened = series.segments.is_open(session_);
  if (!entry.selected) {  // that there is such a tag is all that is told of it
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
  if (store_ && step >= options_.first_step && step <= options_.last_step) {
    series.append(pool_, step, wall, value);
  }
}

void ScalarPath::learn(TagEntry& entry, Bytes event, size_t slot, uint32_t width) {
  // Nothing but the summary may come behind the step: take() would not see it.
  const size_t start = sole_summary(event);
  if (start == 0 || slot < start || event.size() - start > kLongestTemplate) return;
  entry.shape.learn(event.subspan(start), slot - start, width);
}

}  // namespace tbq
