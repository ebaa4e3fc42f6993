// Writes the protobuf wire format: compute the sizes first, then write the bytes into memory that is large
// enough.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tbq {

constexpr size_t kLongestVarint = 10;

constexpr size_t varint_size(uint64_t value) {
  return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7;
}

// The size of a length-delimited field with a one-byte key.
constexpr size_t field_size(size_t length) { return 1 + varint_size(length) + length; }

// Writes at a position and advances it; the caller provides enough room.
class WireWriter {
 public:
  explicit WireWriter(uint8_t* at) : at_(at) {}

  uint8_t* position() const { return at_; }

  void byte(uint8_t value) { *at_++ = value; }
  void bytes(std::string_view text) {
    if (!text.empty()) std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  template <class T>
  void fixed(T value) {
    static_assert(std::endian::native == std::endian::little, "event files are little-endian");
    std::memcpy(at_, &value, sizeof(T));
    at_ += sizeof(T);
  }
  void varint(uint64_t value) {
    while (value >= 0x80) {
      *at_++ = static_cast<uint8_t>(value | 0x80);
      value >>= 7;
    }
    *at_++ = static_cast<uint8_t>(value);
  }
  // The key and length of a length-delimited field; its content follows.
  void open(uint8_t key, size_t length) {
    byte(key);
    varint(length);
  }
  void field(uint8_t key, std::string_view content) {
    open(key, content.size());
    bytes(content);
  }

 private:
  uint8_t* at_;
};

// Appends a varint to a container of bytes: a std::string or a std::vector<uint8_t>.
template <class Container>
void append_varint(Container& out, uint64_t value) {
  uint8_t bytes[kLongestVarint];
  WireWriter writer(bytes);
  writer.varint(value);
  out.insert(out.end(), bytes, writer.position());
}

}  // namespace tbq
