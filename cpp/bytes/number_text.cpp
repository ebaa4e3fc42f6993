// Writes numbers in whole words. Most numbers of a log never reach std::to_chars: floats of middling size,
// wall times and steps have their own integer code, which takes half the time or less.
#include "bytes/number_text.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

namespace tbq {
namespace {

static_assert(std::endian::native == std::endian::little, "eight digits are laid out in one word");

// The eight digits of a value below 10^8 as the bytes 0 to 9, the leading digit in the lowest byte.
inline uint64_t eight_digits(uint64_t value) {
  const uint64_t halves = value / 10000 | (value % 10000) << 32;
  const uint64_t hundreds = ((halves * 10486) >> 20) & 0x7f0000007fU;
  const uint64_t pairs = ((halves - 100 * hundreds) << 16) + hundreds;
  const uint64_t tens = ((pairs * 103) >> 10) & 0xf000f000f000fU;
  return tens + ((pairs - 10 * tens) << 8);
}

// The four digits of a value below 10^4, in four bytes.
inline uint32_t four_digits(uint32_t value) {
  const uint32_t hundreds = (value * 10486) >> 20;
  const uint32_t pairs = ((value - 100 * hundreds) << 16) + hundreds;
  const uint32_t tens = ((pairs * 103) >> 10) & 0xf000fU;
  return tens + ((pairs - 10 * tens) << 8);
}

// The constants that float32 numbers from 2^-13 up to 2^13 need, by exponent. Such a number is c * 2^-bits,
// and 10^places is the first power of ten that is not below 2^bits. Decimals with `places` places are at
// least as dense as such numbers, and decimals with one place less are not. So the shortest decimal is the
// only one with places - 1 that reads back, or else the closest one with `places`. c * 10^places is below
// 2^61, so plain integers hold all of it exactly.
class Scales {
 public:
  static constexpr uint32_t kFirst = 127 - 13;
  static constexpr uint32_t kCount = 26;
  static constexpr int kPlaces = 12;  // at most 11 are needed; 12 are written as 4 and 8 digits
  struct Scale {
    uint64_t power = 1;   // 10^places
    uint64_t factor = 1;  // 10^(kPlaces - places)
    int bits = 0;
  };

  constexpr Scales() {
    for (uint32_t i = 0; i < kCount; ++i) {
      Scale& scale = scales_[i];
      scale.bits = 150 - static_cast<int>(kFirst + i);
      int places = 0;
      for (; scale.power >> scale.bits == 0; ++places) scale.power *= 10;
      for (; places < kPlaces; ++places) scale.factor *= 10;
    }
  }
  constexpr const Scale& operator[](uint32_t i) const { return scales_[i]; }

 private:
  std::array<Scale, kCount> scales_{};
};

constexpr Scales kScales;

// Whether write_middling can write a number: it lies from 2^-13 up to 2^13 and is not a power of two (below a
// power of two, numbers are twice as dense).
inline bool is_middling(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t exponent = ((bits >> 23) & 0xff) - Scales::kFirst;  // wraps if the exponent is smaller
  return exponent < Scales::kCount && (bits & ((uint32_t{1} << 23) - 1)) != 0;
}

// Does not branch on the digits: the digits of weights are as good as random, so half of the branches would
// be mispredicted.
inline char* write_middling(char* to, float number) {
  const auto bits = std::bit_cast<uint32_t>(number);
  const uint64_t c = (bits & ((uint32_t{1} << 23) - 1)) | (uint32_t{1} << 23);
  const Scales::Scale& scale = kScales[((bits >> 23) & 0xff) - Scales::kFirst];
  *to = '-';
  to += bits >> 31;
  const uint64_t value = c * scale.power;  // in units of 10^-places * 2^-bits, as all values below
  const uint64_t ones = value >> scale.bits;
  const uint64_t closest = (value + (uint64_t{1} << (scale.bits - 1)) - 1 + (ones & 1)) >> scale.bits;
  const uint64_t tens = (ones + 5) / 10 * 10;
  const uint64_t reach = scale.power / 2 - (c & 1);  // a halfway value reads back as the even neighbour
  const uint64_t tens_do = value - (tens << scale.bits) + reach <= 2 * reach ? 1 : 0;
  const uint64_t decimal = closest ^ ((closest ^ tens) & (0 - tens_do));  // compilers turn `?:` into a branch

  const uint64_t scaled = decimal * scale.factor;
  const uint64_t high = scaled / 100000000;  // the integer part and 4 places
  uint64_t first = high;
  if (high < 10000) {
    *to++ = '0';
  } else {
    const uint64_t integer = high / 10000;
    const uint32_t digits = four_digits(static_cast<uint32_t>(integer));
    const int zeros = std::countr_zero(digits) / 8;
    const uint32_t ascii = (digits + 0x30303030U) >> (8 * zeros);
    std::memcpy(to, &ascii, 4);
    to += 4 - zeros;
    first = high - 10000 * integer;
  }
  const uint32_t four = four_digits(static_cast<uint32_t>(first));
  const uint64_t eight = eight_digits(scaled - 100000000 * high);
  const uint32_t four_ascii = four + 0x30303030U;
  const uint64_t eight_ascii = eight + 0x3030303030303030U;
  *to = '.';
  std::memcpy(to + 1, &four_ascii, 4);
  std::memcpy(to + 5, &eight_ascii, 8);
  if (eight == 0) [[unlikely]]
    return to + 5 - std::countl_zero(four | 1) / 8;  // at least one place
  return to + 13 - std::countl_zero(eight) / 8;
}

// Lays out the shortest digits as Python does: scientific below 1e-4 and from 1e16 on.
template <class T>
char* write_shortest(char* to, T value) {
  const bool scientific = value < static_cast<T>(1e-4) || value >= static_cast<T>(1e16);
  const auto format = scientific ? std::chars_format::scientific : std::chars_format::fixed;
  return std::to_chars(to, to + kNumberChars, value, format).ptr;
}

// Writes seconds since 1970 from 2004 to 2038 (2^30 <= value < 2^31), as wall times are. Such a value has 22
// bits after the point, so plain integers yield its decimals. At most one decimal of 6 digits lies within
// half a unit of the last bit, and some decimal of 7 digits always does: the shortest is the one of 6 digits,
// or else the closest of 7.
char* write_seconds(char* to, double value) {
  constexpr int kBits = 22;
  constexpr uint64_t kHalf = uint64_t{1} << (kBits - 1);
  const uint64_t significand =
      (std::bit_cast<uint64_t>(value) & ((uint64_t{1} << 52) - 1)) | (uint64_t{1} << 52);
  const uint64_t integer = significand >> kBits;
  const uint64_t part = significand & ((uint64_t{1} << kBits) - 1);
  uint64_t decimals = (part * 1000000 + kHalf) >> kBits;
  const int64_t off = static_cast<int64_t>(decimals << kBits) - static_cast<int64_t>(part * 1000000);
  const auto twice = static_cast<uint64_t>(2 * (off < 0 ? -off : off));
  const bool six = twice < 1000000 || (twice == 1000000 && (significand & 1) == 0);
  if (six) {
    decimals *= 10;
  } else {
    const uint64_t scaled = part * 10000000;
    const uint64_t rest = scaled & (2 * kHalf - 1);
    decimals = scaled >> kBits;
    decimals += rest > kHalf || (rest == kHalf && (decimals & 1) != 0) ? 1 : 0;
  }
  if (decimals >= 10000000) return nullptr;   // rounds up to the next second: rare, so std::to_chars does it
  const uint64_t high = integer / 100000000;  // 10 to 21
  to[0] = static_cast<char>('0' + high / 10);
  to[1] = static_cast<char>('0' + high % 10);
  const uint64_t low = eight_digits(integer % 100000000) + 0x3030303030303030U;
  std::memcpy(to + 2, &low, 8);
  const uint64_t after = eight_digits(decimals);  // the leading digit is 0; the point overwrites it
  const uint64_t ascii = ((after + 0x3030303030303030U) & ~uint64_t{0xff}) | '.';
  std::memcpy(to + 10, &ascii, 8);
  return to + 10 + (after == 0 ? 2 : 8 - std::countl_zero(after) / 8);
}

}  // namespace

char* write_int64(char* to, int64_t value) {
  if (static_cast<uint64_t>(value) >= 100000000) return std::to_chars(to, to + kNumberChars, value).ptr;
  const uint64_t digits = eight_digits(static_cast<uint64_t>(value));
  const int zeros = std::countr_zero(digits | uint64_t{1} << 56) / 8;  // at least one digit stays
  const uint64_t ascii = (digits + 0x3030303030303030U) >> (8 * zeros);
  std::memcpy(to, &ascii, 8);
  return to + 8 - zeros;
}

char* write_float32(char* to, float value) {
  if (is_middling(value)) [[likely]]
    return write_middling(to, value);
  return write_float64(to, static_cast<double>(value), true);
}

char* write_float64(char* to, double value, bool narrow) {
  if (narrow && std::abs(value) < 8192.0) {
    const auto single = static_cast<float>(value);
    if (static_cast<double>(single) == value && is_middling(single)) return write_middling(to, single);
  }
  if (std::signbit(value)) {
    *to++ = '-';
    value = -value;
  }
  if (value < 1e16) {
    const auto integer = static_cast<uint64_t>(value);
    if (static_cast<double>(integer) == value) {
      to = std::to_chars(to, to + kNumberChars, integer).ptr;
      std::memcpy(to, ".0", 2);
      return to + 2;
    }
  }
  if (narrow && value <= 3.4028234663852886e38) {
    const auto single = static_cast<float>(value);
    if (static_cast<double>(single) == value) return write_shortest(to, single);
  }
  if (value >= 1073741824.0 && value < 2147483648.0) {
    char* const end = write_seconds(to, value);
    if (end != nullptr) return end;
  }
  return write_shortest(to, value);
}

// Howard Hinnant's civil_from_days: years begin in March, an era has 400 of them.
char* write_timestamp(char* to, int64_t microseconds) {
  constexpr int64_t first = -62167219200000000, last = 253402300799999999;
  const int64_t clamped = microseconds < first ? first : microseconds > last ? last : microseconds;
  const auto since_year_0 = static_cast<uint64_t>(clamped - first);
  const uint64_t micros = since_year_0 % 1000000;
  const uint64_t seconds = since_year_0 / 1000000;
  const uint64_t days = seconds / 86400 + 146097 - 60;  // from 1 March of the year -400
  const uint64_t day_of_era = days % 146097;
  const uint64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const uint64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const uint64_t march_month = (5 * day_of_year + 2) / 153;
  const uint64_t day = day_of_year - (153 * march_month + 2) / 5 + 1;
  const uint64_t month = march_month < 10 ? march_month + 3 : march_month - 9;
  const uint64_t year = days / 146097 * 400 + year_of_era + (month <= 2 ? 1 : 0) - 400;
  const auto padded = [&](uint64_t value, int width, char after) {
    for (int i = width; i-- > 0; value /= 10) to[i] = static_cast<char>('0' + value % 10);
    to += width;
    *to++ = after;
  };
  padded(year, 4, '-');
  padded(month, 2, '-');
  padded(day, 2, 'T');
  padded(seconds / 3600 % 24, 2, ':');
  padded(seconds / 60 % 60, 2, ':');
  padded(seconds % 60, 2, '.');
  padded(micros, 6, 'Z');
  return to;
}

}  // namespace tbq
