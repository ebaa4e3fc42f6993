// Names of tags and runs: any bytes, shown as text that stands for one name only.
#pragma once

#include <string>
#include <string_view>

namespace tbq {

// The name of a tag or a run as everybody sees it and selects by it. A name may be any bytes, and different
// names are always shown differently: UTF-8 is shown as it is, unless it contains what looks like an escape
// (`\x80` to `\xff`); any other name is shown with its backslashes doubled and each byte that is not UTF-8 as
// `\xHH`.
std::string display_name(std::string_view name);

// The bytes of the name that `display_name` shows so; a text that it never gives stands for itself.
std::string raw_name(std::string_view shown);

}  // namespace tbq
