// The checked cursor over the bytes of a buffer. If too few bytes are left, every accessor returns false and
// leaves the cursor unmoved.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace tbq {

static_assert(sizeof(size_t) == 8, "lengths and offsets of files are held in size_t");

using Bytes = std::span<const uint8_t>;

inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Whether `bytes` contains `text` at offset `at`.
inline bool stands_at(Bytes bytes, std::string_view text, size_t at = 0) {
  return bytes.size() >= at + text.size() && as_text(bytes.subspan(at, text.size())) == text;
}

// Loads a trivially copyable T, little-endian; sizeof(T) bytes must be readable at `from`.
template <class T>
inline T load_le(const uint8_t* from) {
  static_assert(std::endian::native == std::endian::little, "event files are little-endian");
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// Prefetches `row` of a column for writing, if the compiler can; `row` may be past the end.
template <class T>
inline void will_write([[maybe_unused]] T* column, [[maybe_unused]] size_t row) {
#if defined(__GNUC__)
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(column) + row * sizeof(T)), 1);
#endif
}

enum class Wire : uint32_t { varint = 0, fixed64 = 1, bytes = 2, group = 3, end_group = 4, fixed32 = 5 };

struct Field {
  uint32_t number = 0;
  Wire wire = Wire::varint;
  uint64_t value = 0;  // of a varint, fixed64 or fixed32: its bits; of bytes: their length
  Bytes bytes;         // for Wire::bytes

  bool is(uint32_t wanted, Wire type) const { return number == wanted && wire == type; }
  double as_double() const { return std::bit_cast<double>(value); }
  float as_float() const { return std::bit_cast<float>(static_cast<uint32_t>(value)); }
  int64_t as_int64() const { return static_cast<int64_t>(value); }
};

// The groups that are open at the current position in a message. Groups ended with proto1, but a reader must
// be able to skip them.
class OpenGroups {
 public:
  explicit OpenGroups(uint32_t number) : numbers_{number} {}
  bool any() const { return depth_ > 0; }
  // Records the next field; false if it makes the message malformed.
  bool note(uint32_t number, Wire wire) {
    if (wire == Wire::end_group) return numbers_[--depth_] == number;
    if (wire != Wire::group) return true;
    if (depth_ == kMost) return false;
    numbers_[depth_++] = number;
    return true;
  }

 private:
  static constexpr int kMost = 32;
  uint32_t numbers_[kMost];
  int depth_ = 1;
};

class Cursor {
 public:
  Cursor() = default;
  explicit Cursor(Bytes bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool empty() const { return at_ == end_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  const uint8_t* position() const { return at_; }
  Bytes rest() const { return {at_, left()}; }

  bool varint(uint64_t& out) {
    const uint8_t* p = at_;
    if (p != end_ && *p < 0x80) {
      out = *p;
      at_ = p + 1;
      return true;
    }
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70 && p != end_; shift += 7) {
      const uint8_t byte = *p++;
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) {
        out = value;
        at_ = p;
        return true;
      }
    }
    return false;
  }

  // The next `count` bytes.
  bool bytes(uint64_t count, Bytes& out) {
    if (count > left()) return false;
    out = {at_, static_cast<size_t>(count)};
    at_ += count;
    return true;
  }

  template <class T>
  bool fixed(T& out) {
    if (left() < sizeof(T)) return false;
    out = load_le<T>(at_);
    at_ += sizeof(T);
    return true;
  }

  // The next key and its value. For Wire::bytes, the value is the length of the bytes that follow.
  bool head(Field& out) {
    uint64_t key;
    if (!varint(key) || key > UINT32_MAX) return false;
    out.number = static_cast<uint32_t>(key >> 3);
    out.wire = static_cast<Wire>(key & 7);
    out.value = 0;
    if (out.number == 0) return false;
    switch (out.wire) {
      case Wire::varint:
      case Wire::bytes:
        return varint(out.value);
      case Wire::fixed64:
        return fixed(out.value);
      case Wire::fixed32: {
        uint32_t bits;
        if (!fixed(bits)) return false;
        out.value = bits;
        return true;
      }
      case Wire::group:
      case Wire::end_group:
        return true;
      default:
        return false;
    }
  }

  // The next field of a message. Skips a group with its content and returns it as an empty Wire::group.
  bool field(Field& out) {
    const uint8_t* start = at_;
    if (field_at(out)) return true;
    at_ = start;
    return false;
  }

 private:
  bool field_at(Field& out) {
    if (!item(out)) return false;
    if (out.wire != Wire::group) return out.wire != Wire::end_group;
    OpenGroups open(out.number);
    for (Field inner; open.any();) {
      if (!item(inner) || !open.note(inner.number, inner.wire)) return false;
    }
    return true;
  }

  // A field, or the start or end of a group.
  bool item(Field& out) {
    out.bytes = {};
    return head(out) && (out.wire != Wire::bytes || bytes(out.value, out.bytes));
  }

  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
};

// Calls visit(field) for each field of a message. At a malformed field, it stops and returns false.
template <class Visit>
bool each_field(Bytes message, Visit&& visit) {
  Cursor cursor(message);
  Field field;
  while (!cursor.empty()) {
    if (!cursor.field(field)) return false;
    visit(field);
  }
  return true;
}

}  // namespace tbq
