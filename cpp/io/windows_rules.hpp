// What Windows wants of paths and gives as times, as rules without system calls, so that they are tested on
// every system.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tbq {

// The UTF-16 path for a path in UTF-8, in which a lone surrogate may have three bytes, as Python writes names
// of files. A path that is too long for the old interfaces becomes absolute and begins with \\?\, which lifts
// the limit; `directory` is the current directory. Returns nothing if the path is not UTF-8 or holds a NUL.
std::optional<std::u16string> windows_path(std::string_view path, std::u16string_view directory);

// Nanoseconds since 1970 for a FILETIME: units of 100 ns since 1601. Times out of range are clamped.
int64_t nanoseconds_of_filetime(uint64_t ticks);

}  // namespace tbq
