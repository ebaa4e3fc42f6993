// Converts 16-bit floats to float64, exactly, and float32 to float16 with rounding.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace tbq {

inline double double_of_half(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int fraction = bits & 0x3ff;
  double value;
  if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else if (exponent == 31) {
    value = fraction == 0 ? HUGE_VAL : std::nan("");
  } else {
    value = std::ldexp(1024 + fraction, exponent - 25);
  }
  return bits & 0x8000 ? -value : value;
}

inline double double_of_bfloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// The nearest float16, ties to even.
inline uint16_t half_of_float(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x7f800000)
    return static_cast<uint16_t>(sign | (magnitude > 0x7f800000 ? 0x7e00 : 0x7c00));
  const double rounded = std::fabs(static_cast<double>(value));
  if (rounded >= 65520.0) return static_cast<uint16_t>(sign | 0x7c00);
  if (rounded < 0x1p-14)
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(rounded * 0x1p24)));
  // Round to nearest even on the 13 bits that are cut off; a carry runs into the exponent, as it should.
  const uint32_t moved = magnitude - (112U << 23);
  const uint32_t half = (moved + 0xfff + (moved >> 13 & 1)) >> 13;
  return static_cast<uint16_t>(sign | half);
}

inline uint16_t bfloat_of_float(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace tbq
