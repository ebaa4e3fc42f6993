// MT19937 after Matsumoto and Nishimura, with the functions of CPython's random module on top.
#include "compat/python_random.hpp"

#include <bit>

namespace tbq {

PythonRandom::PythonRandom(uint32_t seed) {
  state_[0] = 19650218U;
  for (size_t i = 1; i < kWords; ++i) {
    state_[i] = 1812433253U * (state_[i - 1] ^ (state_[i - 1] >> 30)) + static_cast<uint32_t>(i);
  }
  // init_by_array() with a key of one word.
  size_t i = 1;
  for (size_t round = 0; round < kWords; ++round) {
    state_[i] = (state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * 1664525U)) + seed;
    if (++i == kWords) {
      state_[0] = state_[kWords - 1];
      i = 1;
    }
  }
  for (size_t round = 1; round < kWords; ++round) {
    state_[i] =
        (state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * 1566083941U)) - static_cast<uint32_t>(i);
    if (++i == kWords) {
      state_[0] = state_[kWords - 1];
      i = 1;
    }
  }
  state_[0] = 0x80000000U;
}

uint32_t PythonRandom::next() {
  constexpr size_t kShift = 397;
  if (at_ == kWords) {
    for (size_t i = 0; i < kWords; ++i) {
      const uint32_t mixed = (state_[i] & 0x80000000U) | (state_[(i + 1) % kWords] & 0x7fffffffU);
      state_[i] = state_[(i + kShift) % kWords] ^ (mixed >> 1) ^ ((mixed & 1U) != 0 ? 0x9908b0dfU : 0U);
    }
    at_ = 0;
  }
  uint32_t word = state_[at_++];
  word ^= word >> 11;
  word ^= (word << 7) & 0x9d2c5680U;
  word ^= (word << 15) & 0xefc60000U;
  return word ^ (word >> 18);
}

// random.getrandbits(count), for 1 to 64.
uint64_t PythonRandom::bits(unsigned count) {
  if (count <= 32) return next() >> (32 - count);
  const uint64_t low = next();
  return low | static_cast<uint64_t>(next() >> (64 - count)) << 32;
}

uint64_t PythonRandom::below(uint64_t bound) {
  const auto width = static_cast<unsigned>(std::bit_width(bound));
  uint64_t drawn = bits(width);
  while (drawn >= bound) drawn = bits(width);
  return drawn;
}

}  // namespace tbq
