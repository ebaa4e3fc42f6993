// Bytes that should be UTF-8: texts are repaired, names are kept apart.
#pragma once

#include <string>
#include <string_view>

namespace tbq {

bool is_valid_utf8(std::string_view text);

// `text` with U+FFFD for what is not UTF-8, exactly as Python's bytes.decode("utf-8", "replace") places it.
std::string valid_utf8(std::string_view text);

// The name of a tag or a run as everybody sees it and selects by it. A name may be any bytes, and different
// names are always shown differently: UTF-8 is shown as it is, unless it contains what looks like an escape
// (`\x80` to `\xff`); any other name is shown with its backslashes doubled and each byte that is not UTF-8 as
// `\xHH`.
std::string display_name(std::string_view name);

// The bytes of the name that `display_name` shows so; a text that it never gives stands for itself.
std::string raw_name(std::string_view shown);

}  // namespace tbq
