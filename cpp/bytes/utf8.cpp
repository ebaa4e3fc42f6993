// Defines what a UTF-8 sequence is, once; checking and repairing both follow that rule.
#include "bytes/utf8.hpp"

#include <cstdint>
#include <cstring>

namespace tbq {

Utf8Sequence utf8_sequence(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {1, true};
  size_t length = 0;
  uint8_t low = 0x80, high = 0xbf;  // limits of the second byte
  if (lead >= 0xc2 && lead <= 0xdf) {
    length = 2;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    length = 3;
    if (lead == 0xe0) low = 0xa0;
    if (lead == 0xed) high = 0x9f;  // surrogates
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    length = 4;
    if (lead == 0xf0) low = 0x90;
    if (lead == 0xf4) high = 0x8f;
  } else {
    return {1, false};
  }
  for (size_t i = 1; i < length; ++i) {
    if (i == text.size() || byte(i) < low || byte(i) > high) return {i, false};
    low = 0x80;
    high = 0xbf;
  }
  return {length, true};
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    uint64_t word;
    if (text.size() >= 8) {
      std::memcpy(&word, text.data(), 8);
      if ((word & 0x8080808080808080ULL) == 0) {
        text.remove_prefix(8);
        continue;
      }
    }
    const Utf8Sequence next = utf8_sequence(text);
    if (!next.valid) return false;
    text.remove_prefix(next.length);
  }
  return true;
}

std::string valid_utf8(std::string_view text) {
  if (is_valid_utf8(text)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const Utf8Sequence next = utf8_sequence(text);
    out.append(next.valid ? text.substr(0, next.length) : std::string_view("\xef\xbf\xbd"));
    text.remove_prefix(next.length);
  }
  return out;
}

}  // namespace tbq
