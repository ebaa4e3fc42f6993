// How every writer begins an Event: its wall time, its step unless that is 0, then most often one value.
#pragma once

#include <bit>

#include "event/schema.hpp"

namespace tbq {

constexpr size_t kShortestEvent = 24;  // eight bytes can be read after its step, however long that is
constexpr uint8_t kWallTimeKey = schema::key(schema::Event::wall_time, Wire::fixed64);
constexpr uint8_t kStepKey = schema::key(schema::Event::step, Wire::varint);
constexpr uint8_t kSummaryKey = schema::key(schema::Event::summary, Wire::bytes);
constexpr uint8_t kValueKey = schema::key(schema::Summary::value, Wire::bytes);
constexpr uint8_t kTagKey = schema::key(schema::Value::tag, Wire::bytes);
constexpr uint8_t kMetadataKey = schema::key(schema::Value::metadata, Wire::bytes);
constexpr uint8_t kSimpleValueKey = schema::key(schema::Value::simple_value, Wire::fixed32);

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

// Reads the wall time and the step of the event of `size` bytes at `p`, and moves `p` after them. False if
// the event begins in another way, or is shorter or its step larger than usual: the general walk reads it
// then.
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
  size_t size = 0;  // what follows begins here
};

inline bool read_head(Bytes event, EventHead& out) {
  const uint8_t* at = event.data();
  if (!read_head(at, event.size(), out.wall_time, out.step)) return false;
  out.size = static_cast<size_t>(at - event.data());
  return true;
}

// Whether `cursor` is at a field of this key that reaches to the end of its bytes; then it is moved inside.
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

// After the head: a summary of one value that begins with its tag, and nothing else. Then `cursor` is moved
// after the tag, inside of the value.
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
