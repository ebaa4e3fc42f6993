// Builds event files byte by byte, for tests and fuzz targets.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "bytes/crc32c.hpp"
#include "bytes/cursor.hpp"

namespace bytes {

template <class T>
std::string of(T value) {
  std::string out(sizeof(T), '\0');
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}

inline tbq::Bytes view(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

inline std::string varint(uint64_t value) {
  std::string out;
  for (; value > 0x7f; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
inline std::string number(uint32_t field, uint64_t value) { return varint(field << 3) + varint(value); }
inline std::string fixed(uint32_t field, double value) { return varint(field << 3 | 1) + of(value); }
inline std::string fixed(uint32_t field, float value) { return varint(field << 3 | 5) + of(value); }
inline std::string message(uint32_t field, std::string_view held) {
  return varint(field << 3 | 2) + varint(held.size()) + std::string(held);
}

inline std::string record(std::string_view payload) {
  const auto masked = [](std::string_view data) {
    return of(tbq::crc_mask(tbq::crc32c(0, reinterpret_cast<const uint8_t*>(data.data()), data.size())));
  };
  const std::string length = of(static_cast<uint64_t>(payload.size()));
  return length + masked(length) + std::string(payload) + masked(payload);
}

inline std::string event(double wall, int64_t step, std::string_view rest) {
  return fixed(1, wall) + (step != 0 ? number(2, static_cast<uint64_t>(step)) : "") + std::string(rest);
}
inline std::string summary(std::string_view value) { return message(5, message(1, value)); }
inline std::string version(double wall) { return event(wall, 0, message(3, "brain.Event:2")); }
inline std::string scalar(std::string_view tag, int64_t step, float value, double wall = 1e9) {
  return event(wall, step, summary(message(1, tag) + fixed(2, value)));
}
inline std::string metadata(std::string_view plugin) {
  return message(9, message(1, message(1, plugin)) + number(4, 1));
}
// A TensorProto of `dtype` with raw content.
inline std::string tensor(uint64_t dtype, std::string_view content) {
  return number(1, dtype) + message(2, "") + message(4, content);
}

}  // namespace bytes
