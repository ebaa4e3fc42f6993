// Checks bytes for valid UTF-8 and repairs them as Python does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tbq {

// The first sequence of a non-empty text: one character, or the longest valid beginning of an incomplete one.
struct Utf8Sequence {
  size_t length = 1;
  bool valid = false;
};
Utf8Sequence utf8_sequence(std::string_view text);

bool is_valid_utf8(std::string_view text);

// `text` with U+FFFD in place of invalid bytes, exactly as Python's bytes.decode("utf-8", "replace") places
// it.
std::string valid_utf8(std::string_view text);

}  // namespace tbq
