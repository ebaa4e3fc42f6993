// The shortest decimal that reads back as a float, by Schubfach (Raffaello Giulietti, "The Schubfach way to
// render doubles", 2020).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace tbq {

struct U128 {
  uint64_t high;
  uint64_t low;
};

inline U128 multiply(uint64_t a, uint64_t b) {
#if defined(_MSC_VER) && !defined(__clang__) && defined(_M_X64)
  U128 product;
  product.low = _umul128(a, b, &product.high);
  return product;
#elif defined(_MSC_VER) && !defined(__clang__)
  return {__umulh(a, b), a * b};
#else
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return {static_cast<uint64_t>(product >> 64), static_cast<uint64_t>(product)};
#endif
}

constexpr int kMinPower = -292;
constexpr int kMaxPower = 324;

// floor(log2(10^e)), for |e| <= 1233.
constexpr int floor_log2_pow10(int e) { return (e * 1741647) >> 19; }

// 10^k for every k that a double needs, as 128 bits with the top bit set, rounded up. Computed once, in
// microseconds.
class Powers {
 public:
  Powers();
  const U128& operator[](int k) const { return powers_[static_cast<size_t>(k - kMinPower)]; }

 private:
  U128& at(int k) { return powers_[static_cast<size_t>(k - kMinPower)]; }
  std::array<U128, kMaxPower - kMinPower + 1> powers_{};
};

extern const Powers kPowers;

struct Decimal {
  uint64_t digits;
  int exponent;  // the value is digits * 10^exponent
};

inline uint64_t round_to_odd(const U128& power, uint64_t scaled) {
  const uint64_t low = multiply(power.low, scaled).high;
  const U128 high = multiply(power.high, scaled);
  const uint64_t middle = high.low + low;
  return (high.high + (middle < low ? 1 : 0)) | (middle > 1 ? 1 : 0);
}

inline uint64_t round_to_odd(uint64_t power, uint64_t scaled) {
  const U128 product = multiply(power, scaled);
  return product.high | (product.low >> 32 > 1 ? 1 : 0);
}

// The shortest decimal inside the rounding interval of c * 2^q; if several are equally short, the closest.
template <class Power>
inline Decimal shortest(uint64_t c, int q, bool lower_is_closer, Power power_of) {
  const int k = (q * 1262611 - (lower_is_closer ? 524031 : 0)) >> 22;
  const int h = q + floor_log2_pow10(-k) + 1;
  const auto power = power_of(-k);
  const uint64_t odd = c & 1;
  const uint64_t lower = round_to_odd(power, (4 * c - 2 + (lower_is_closer ? 1 : 0)) << h) + odd;
  const uint64_t value = round_to_odd(power, (4 * c) << h);
  const uint64_t upper = round_to_odd(power, (4 * c + 2) << h) - odd;
  const uint64_t s = value / 4;
  if (s >= 10) {
    const uint64_t tens = s / 10;
    const bool down_fits = lower <= 40 * tens;
    const bool up_fits = 40 * tens + 40 <= upper;
    if (down_fits != up_fits) return {tens + (up_fits ? 1 : 0), k + 1};
  }
  const bool down_fits = lower <= 4 * s;
  const bool up_fits = 4 * s + 4 <= upper;
  if (down_fits != up_fits) return {s + (up_fits ? 1 : 0), k};
  const uint64_t middle = 4 * s + 2;
  return {s + (value > middle || (value == middle && (s & 1) != 0) ? 1 : 0), k};
}

inline Decimal shortest_float64(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff);
  const uint64_t c = exponent != 0 ? fraction | (uint64_t{1} << 52) : fraction;
  const int q = (exponent != 0 ? exponent : 1) - 1075;
  return shortest(c, q, fraction == 0 && exponent > 1, [](int k) -> const U128& { return kPowers[k]; });
}

inline Decimal shortest_float32(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t fraction = bits & ((uint32_t{1} << 23) - 1);
  const int exponent = static_cast<int>((bits >> 23) & 0xff);
  const uint32_t c = exponent != 0 ? fraction | (uint32_t{1} << 23) : fraction;
  const int q = (exponent != 0 ? exponent : 1) - 150;
  return shortest(c, q, fraction == 0 && exponent > 1,
                  [](int k) { return kPowers[k].high + (kPowers[k].low != 0 ? 1 : 0); });
}

}  // namespace tbq
