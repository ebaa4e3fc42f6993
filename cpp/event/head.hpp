// Reads the start that all writers give an Event: wall time, step (unless it is 0), then most often one
// value.
#pragma once

#include <bit>

#include "event/schema.hpp"

namespace tbq {

constexpr size_t kShortestEvent = 24;  // leaves eight readable bytes after any step
constexpr uint8_t kWallTimeKey = schema::key(schema::Event::wall_time, Wire::fixed64);
constexpr uint8_t kStepKey = schema::key(schema::Event::step, Wire::varint);
constexpr uint8_t kSummaryKey = schema::key(schema::Event::summary, Wire::bytes);
constexpr uint8_t kValueKey = schema::key(schema::Summary::value, Wire::bytes);
constexpr uint8_t kTagKey = schema::key(schema::Value::tag, Wire::bytes);
constexpr uint8_t kMetadataKey = schema::key(schema::Value::metadata, Wire::bytes);
constexpr uint8_t kSimpleValueKey = schema::key(schema::Value::simple_value, Wire::fixed32);

// Reads a varint of at most four bytes; eight bytes must be readable at `p`.
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

// Reads the wall time and the step of the event of `size` bytes at `p`, and moves `p` past them. Returns
// false if the event begins differently, is very short or has a very large step; then the general walk must
// read it.
inline bool read_head(const uint8_t*& p, size_t size, double& wall_time, int64_t& step) {
  if (size < kShortestEvent || p[0] != kWallTimeKey) return false;
  wall_time = load_le<double>(p + 1);
  p += 9;
  step = 0;
  return *p != kStepKey || short_varint(++p, step);
}

struct EventHead {
  double wall_time = 0;
  int64_t step = 0;
  size_t size = 0;  // the rest of the event begins here
};

inline bool read_head(Bytes event, EventHead& out) {
  const uint8_t* at = event.data();
  if (!read_head(at, event.size(), out.wall_time, out.step)) return false;
  out.size = static_cast<size_t>(at - event.data());
  return true;
}

// If `cursor` is at a field with this key that reaches to the end of its bytes, moves `cursor` into the field
// and returns true.
inline bool enter_last(Cursor& cursor, uint8_t key) {
  Cursor inside = cursor;
  Bytes first;
  uint64_t length;
  if (!inside.bytes(1, first) || first[0] != key || !inside.varint(length) || length != inside.left()) {
    return false;
  }
  cursor = inside;
  return true;
}

// If the event's rest is one summary with one value that begins with its tag, moves `cursor` past the tag,
// inside the value, and returns true.
inline bool enter_sole_value(Cursor& cursor, Bytes& tag) {
  Cursor inside = cursor;
  Field field;
  if (!enter_last(inside, kSummaryKey) || !enter_last(inside, kValueKey) || !inside.field(field) ||
      !field.is(schema::Value::tag, Wire::bytes)) {
    return false;
  }
  tag = field.bytes;
  cursor = inside;
  return true;
}

}  // namespace tbq
