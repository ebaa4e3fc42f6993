// Bytes that should be UTF-8: checked, and repaired as Python does it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tbq {

// What a text that is not empty begins with: a character, or the longest beginning of one that is cut off.
struct Utf8Sequence {
  size_t length = 1;
  bool valid = false;
};
Utf8Sequence utf8_sequence(std::string_view text);

bool is_valid_utf8(std::string_view text);

// `text` with U+FFFD for what is not UTF-8, exactly as Python's bytes.decode("utf-8", "replace") places it.
std::string valid_utf8(std::string_view text);

}  // namespace tbq
