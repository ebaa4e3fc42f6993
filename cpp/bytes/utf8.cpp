// UTF-8 checked, repaired and escaped; see the header.
#include "bytes/utf8.hpp"

#include <cstdint>
#include <cstring>

namespace tbq {
namespace {

// What stands at the start of a text: a character, or the longest beginning of one that is cut off there.
struct Sequence {
  size_t length = 1;
  bool valid = false;
};

Sequence sequence_at(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {1, true};
  size_t length = 0;
  uint8_t low = 0x80, high = 0xbf;  // of the second byte
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

int hex_digit(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

// The byte that `\x80` to `\xff` at the start of a text stands for, or -1.
int escaped_byte(std::string_view text) {
  if (text.size() < 4 || text[0] != '\\' || text[1] != 'x') return -1;
  const int high = hex_digit(text[2]), low = hex_digit(text[3]);
  return high < 8 || low < 0 ? -1 : high * 16 + low;
}

bool has_escape(std::string_view text) {
  for (size_t at = text.find('\\'); at != std::string_view::npos; at = text.find('\\', at + 1)) {
    if (escaped_byte(text.substr(at)) >= 0) return true;
  }
  return false;
}

}  // namespace

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
    const Sequence next = sequence_at(text);
    if (!next.valid) return false;
    text.remove_prefix(next.length);
  }
  return true;
}

std::string valid_utf8(std::string_view text) {
  if (is_valid_utf8(text)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const Sequence next = sequence_at(text);
    out.append(next.valid ? text.substr(0, next.length) : std::string_view("\xef\xbf\xbd"));
    text.remove_prefix(next.length);
  }
  return out;
}

std::string display_name(std::string_view name) {
  if (is_valid_utf8(name) && !has_escape(name)) return std::string(name);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  while (!name.empty()) {
    const Sequence next = sequence_at(name);
    for (const char letter : name.substr(0, next.length)) {
      const auto byte = static_cast<uint8_t>(letter);
      if (!next.valid) {
        out.append({'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]});
      } else if (letter == '\\') {
        out.append("\\\\");
      } else {
        out.push_back(letter);
      }
    }
    name.remove_prefix(next.length);
  }
  return out;
}

std::string raw_name(std::string_view shown) {
  if (!has_escape(shown)) return std::string(shown);
  std::string out;
  for (std::string_view rest = shown; !rest.empty();) {
    const int byte = escaped_byte(rest);
    if (byte >= 0) {
      out.push_back(static_cast<char>(byte));
      rest.remove_prefix(4);
    } else {
      out.push_back(rest[0]);
      rest.remove_prefix(rest.starts_with("\\\\") ? 2 : 1);
    }
  }
  return display_name(out) == shown ? out : std::string(shown);
}

}  // namespace tbq
