// Names of tags and runs: any bytes, each shown as a text that no other name is shown as.
#pragma once

#include <string>
#include <string_view>

namespace tbq {

// The name of a tag or a run as tables show it and filters match it. A name may be any bytes, and different
// names are always shown differently. A UTF-8 name is shown unchanged, unless it contains something that
// looks like an escape (`\x80` to `\xff`). In any other name the backslashes are doubled, and each byte that
// is not UTF-8 becomes `\xHH`.
std::string display_name(std::string_view name);

// The name that display_name() shows as `shown`. A text that display_name() never returns stands for itself.
std::string raw_name(std::string_view shown);

}  // namespace tbq
