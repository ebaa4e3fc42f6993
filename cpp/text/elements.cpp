// Writes the lines in one pass into a buffer that is large enough.
#include "text/elements.hpp"

#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "bytes/number_text.hpp"

namespace tbq {
namespace {

constexpr size_t kStep = 32;  // the prefix is copied in steps of this many bytes

template <class T>
char* put_value(char* at, T value) {
  if constexpr (std::is_same_v<T, float>) {
    if (std::isfinite(value)) [[likely]]
      return write_float32(at, value);
  } else if constexpr (std::is_same_v<T, double>) {
    if (std::isfinite(value)) [[likely]]
      return write_float64(at, value, false);
  } else {
    return std::to_chars(at, at + kNumberChars, value).ptr;
  }
  const std::string_view text = std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

}  // namespace

ElementLines::ElementLines(std::string_view prefix, char separator)
    : prefix_(prefix),
      size_(prefix.size()),
      separator_(separator),
      longest_(size_ + kStep + 2 * kNumberChars + 2) {
  prefix_.resize(size_ + kStep);
}

template <class T>
char* ElementLines::write(char* to, uint64_t start, std::span<const T> values) const {
  for (const T value : values) {
    for (size_t i = 0; i < size_; i += kStep) std::memcpy(to + i, prefix_.data() + i, kStep);
    to = write_int64(to + size_, static_cast<int64_t>(start++));
    *to++ = separator_;
    to = put_value(to, value);
    *to++ = '\n';
  }
  return to;
}

template char* ElementLines::write(char*, uint64_t, std::span<const float>) const;
template char* ElementLines::write(char*, uint64_t, std::span<const double>) const;
template char* ElementLines::write(char*, uint64_t, std::span<const int64_t>) const;
template char* ElementLines::write(char*, uint64_t, std::span<const uint64_t>) const;

}  // namespace tbq
