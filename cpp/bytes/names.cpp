// Escapes names for display and undoes the escapes.
#include "bytes/names.hpp"

#include <cstdint>

#include "bytes/utf8.hpp"

namespace tbq {
namespace {

int hex_digit(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

// The byte that an escape from `\x80` to `\xff` at the start of `text` stands for, or -1.
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

std::string display_name(std::string_view name) {
  if (is_valid_utf8(name) && !has_escape(name)) return std::string(name);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  while (!name.empty()) {
    const Utf8Sequence next = utf8_sequence(name);
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
