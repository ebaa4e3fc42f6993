// A number of few digits needs one multiplication; the others go to the standard library.
#include "formats/json_number.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <version>
// libc++ can read a double from version 20 on, but not a long double, which the official macro would promise.
#if defined(__cpp_lib_to_chars) || \
    (defined(_LIBCPP_VERSION) && _LIBCPP_VERSION >= 200000 && !defined(__APPLE__))
#define TBQ_HAS_FROM_CHARS
#else
#include <locale>
#include <sstream>
#include <string>
#endif

namespace tbq {
namespace {

constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int kLargestPower = 22;
constexpr uint64_t kExact = uint64_t{1} << 53;
constexpr size_t kLongest = 1000;  // characters of a number

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

JsonNumber of_real(double value) { return {JsonValue::real, value, 0}; }

// The nearest double, by the standard library; infinite numbers are none in JSON.
JsonNumber slowly(std::string_view text) {
  double value = 0;
#ifdef TBQ_HAS_FROM_CHARS
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec == std::errc::result_out_of_range) {
    // Either too large, or so small that it is 0.
    const size_t exponent = text.find_first_of("eE");
    const bool tiny = exponent != std::string_view::npos ? text.find('-', exponent) != std::string_view::npos
                                                         : text.find("0.") <= 1;
    return tiny ? of_real(text.front() == '-' ? -0.0 : 0.0) : JsonNumber{};
  }
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return {};
#else
  std::istringstream stream{std::string(text)};
  stream.imbue(std::locale::classic());
  stream >> value;
  if (!stream && value != 0) return {};
#endif
  return std::isfinite(value) ? of_real(value) : JsonNumber{};
}

JsonNumber word(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  } else if (text == "true" || text == "false") {
    return of_real(text == "true" ? 1 : 0);
  } else if (text == "null") {
    return {JsonValue::null, 0, 0};
  }
  if (text == "NaN") return of_real(std::numeric_limits<double>::quiet_NaN());
  if (text == "Infinity") return of_real(std::numeric_limits<double>::infinity());
  if (text == "-Infinity") return of_real(-std::numeric_limits<double>::infinity());
  return {};
}

}  // namespace

JsonNumber json_number(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  const bool negative = at != end && *at == '-';
  if (negative) ++at;
  if (at == end || !is_digit(*at)) return word(text);
  if (text.size() > kLongest) return {};
  uint64_t digits = 0;  // of the mantissa; correct if there are at most 19
  int count = 0;        // of digits from the first that is not 0; `digits` itself may wrap to 0
  int exponent = 0;
  for (; at != end && is_digit(*at); ++at) {
    digits = digits * 10 + static_cast<uint64_t>(*at - '0');
    count += digits > 0 || count > 0 ? 1 : 0;
  }
  bool whole = true;
  if (at != end && *at == '.') {
    whole = false;
    const char* const point = ++at;
    for (; at != end && is_digit(*at); ++at) {
      digits = digits * 10 + static_cast<uint64_t>(*at - '0');
      count += digits > 0 || count > 0 ? 1 : 0;
    }
    if (at == point) return {};
    exponent = -static_cast<int>(at - point);
  }
  if (at != end && (*at == 'e' || *at == 'E')) {
    whole = false;
    ++at;
    const bool minus = at != end && *at == '-';
    if (at != end && (*at == '-' || *at == '+')) ++at;
    if (at == end || !is_digit(*at)) return {};
    int shift = 0;
    for (; at != end && is_digit(*at); ++at) shift = shift < 100000 ? shift * 10 + (*at - '0') : shift;
    exponent += minus ? -shift : shift;
  }
  if (at != end) return {};
  if (count <= 19) {
    if (whole && digits > kExact) {
      if (digits <= static_cast<uint64_t>(INT64_MAX) + (negative ? 1 : 0))
        return {JsonValue::integer, 0, static_cast<int64_t>(negative ? ~digits + 1 : digits)};
    } else if (digits <= kExact && exponent >= -kLargestPower && exponent <= kLargestPower) {
      auto value = static_cast<double>(digits);
      value = exponent < 0 ? value / kPowers[-exponent] : value * kPowers[exponent];
      return of_real(negative ? -value : value);
    }
  }
  return slowly(text);
}

}  // namespace tbq
