// Converts paths and times between tbq and Windows.
#include "io/windows_rules.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace tbq {
namespace {

// Directories may have 12 characters less than MAX_PATH, for a name in them.
constexpr size_t kLongest = 260 - 12 - 1;

// The UTF-16 text of WTF-8, with `/` as `\`.
std::optional<std::u16string> decoded(std::string_view text) {
  std::u16string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<uint8_t>(text[i]);
    const size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (first == 0 || length == 0 || first > 0xf4 || length > text.size() - i) return std::nullopt;
    uint32_t point = length == 1 ? first : first & (0x7fU >> length);
    for (size_t k = 1; k < length; ++k) {
      const auto next = static_cast<uint8_t>(text[i + k]);
      if ((next & 0xc0) != 0x80) return std::nullopt;
      point = point << 6 | (next & 0x3f);
    }
    if (length == 3 && point < 0x800) return std::nullopt;
    if (length == 4 && (point < 0x10000 || point > 0x10ffff)) return std::nullopt;
    if (point >= 0x10000) {
      result += static_cast<char16_t>(0xd7c0 + (point >> 10));
      result += static_cast<char16_t>(0xdc00 + (point & 0x3ff));
    } else {
      result += point == u'/' ? u'\\' : static_cast<char16_t>(point);
    }
    i += length;
  }
  return result;
}

bool is_letter(char16_t unit) { return (unit | 0x20) >= u'a' && (unit | 0x20) <= u'z'; }

bool has_drive(std::u16string_view path) { return path.size() >= 2 && is_letter(path[0]) && path[1] == u':'; }

// `path` without `.`, `..` and empty parts, after a root of `fixed` parts that `..` does not leave.
std::u16string plain(std::u16string_view path, size_t fixed) {
  std::vector<std::u16string_view> parts;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(u'\\', begin), path.size());
    const std::u16string_view part = path.substr(begin, end - begin);
    if (part == u"..") {
      if (parts.size() > fixed) parts.pop_back();
    } else if (!part.empty() && part != u".") {
      parts.push_back(part);
    }
    begin = end + 1;
  }
  std::u16string result;
  for (const std::u16string_view part : parts) {
    if (!result.empty()) result += u'\\';
    result += part;
  }
  if (parts.size() == 1 && fixed == 1) result += u'\\';  // the root of a drive
  return result;
}

}  // namespace

std::optional<std::u16string> windows_path(std::string_view path, std::u16string_view directory) {
  std::optional<std::u16string> decoded_path = decoded(path);
  if (!decoded_path) return std::nullopt;
  std::u16string& name = *decoded_path;
  const bool is_device = name.starts_with(u"\\\\?\\") || name.starts_with(u"\\\\.\\");
  const bool is_absolute =
      name.starts_with(u"\\\\") || (has_drive(name) && name.size() > 2 && name[2] == u'\\');
  const size_t length = name.size() + (is_absolute ? 0 : directory.size() + 1);
  if (is_device || length <= kLongest) return decoded_path;
  if (!is_absolute) {
    if (has_drive(name))
      return decoded_path;  // relative to another drive's directory, which only Windows knows
    const bool is_rooted = name.starts_with(u"\\");
    if (is_rooted && !has_drive(directory)) return decoded_path;
    name = std::u16string(is_rooted ? directory.substr(0, 2) : directory) + u"\\" + name;
    if (name.starts_with(u"\\\\?\\")) return u"\\\\?\\" + plain(std::u16string_view(name).substr(4), 1);
  }
  if (name.starts_with(u"\\\\")) return u"\\\\?\\UNC\\" + plain(std::u16string_view(name).substr(2), 2);
  return u"\\\\?\\" + plain(name, 1);
}

int64_t nanoseconds_of_filetime(uint64_t ticks) {
  constexpr uint64_t kUnixEpoch = 116'444'736'000'000'000;  // 1970 in units of 100 ns since 1601
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max() / 100;
  if (ticks >= kUnixEpoch) {
    return ticks - kUnixEpoch > kMost ? std::numeric_limits<int64_t>::max()
                                      : static_cast<int64_t>((ticks - kUnixEpoch) * 100);
  }
  return kUnixEpoch - ticks > kMost ? std::numeric_limits<int64_t>::min()
                                    : -static_cast<int64_t>((kUnixEpoch - ticks) * 100);
}

}  // namespace tbq
