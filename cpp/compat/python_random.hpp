// Draws the same numbers as Python's random.Random(seed), so that a sample keeps the same rows as
// TensorBoard's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tbq {

// MT19937, seeded as CPython seeds it with a small integer.
class PythonRandom {
 public:
  explicit PythonRandom(uint32_t seed);

  // random.randrange(bound), for a bound of at least 1.
  uint64_t below(uint64_t bound);

 private:
  static constexpr size_t kWords = 624;
  uint32_t next();
  uint64_t bits(unsigned count);

  std::array<uint32_t, kWords> state_;
  size_t at_ = kWords;
};

}  // namespace tbq
