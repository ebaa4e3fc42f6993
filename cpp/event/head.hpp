// How every writer begins an Event: its wall time, its step unless that is 0, then the summary.
#pragma once

#include <bit>

#include "bytes/cursor.hpp"

namespace tbq {

constexpr size_t kShortestEvent = 24;  // eight bytes can be read behind its step, however long that is
constexpr size_t kLongestTemplate = 512;
constexpr uint8_t kWallTime = 0x09;  // the key of Event.wall_time, a double
constexpr uint8_t kStep = 0x10;      // of Event.step, a varint
constexpr uint8_t kSummary = 0x2a;   // of Event.summary

// A varint of at most four bytes, where eight are readable at p.
inline bool short_varint(const uint8_t*& p, int64_t& value) {
  auto word = load_le<uint64_t>(p);
  const uint64_t ends = ~word & 0x80808080U;
  if (ends == 0) return false;
  const int bits = std::countr_zero(ends) + 1;
  word &= (uint64_t{1} << bits) - 1;
  value = static_cast<int64_t>((word & 0x7f) | (word >> 1 & 0x3f80) | (word >> 2 & 0x1fc000) |
                               (word >> 3 & 0xfe00000));
  p += bits / 8;
  return true;
}

// Where the bytes behind a wall time and perhaps a step begin; 0 where the event begins otherwise.
inline size_t behind_step(Bytes event, int64_t& step) {
  step = 0;
  if (event.size() < kShortestEvent || event[0] != kWallTime) return 0;
  const uint8_t* rest = event.data() + 9;
  if (*rest == kStep && !short_varint(++rest, step)) return 0;
  return static_cast<size_t>(rest - event.data());
}

// The same, but 0 also where anything but a summary comes behind the step.
inline size_t sole_summary(Bytes event) {
  int64_t step;
  const size_t start = behind_step(event, step);
  if (start == 0) return 0;
  Cursor summary(event.subspan(start));
  uint64_t key;
  uint64_t length;
  const bool sole =
      summary.varint(key) && key == kSummary && summary.varint(length) && length == summary.left();
  return sole ? start : 0;
}

}  // namespace tbq
