// Numbers of 16 bits as float64, exactly.
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

}  // namespace tbq
