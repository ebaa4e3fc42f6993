// Computes CRC32C: three interleaved streams of the CPU's instruction for long inputs, one stream for short
// inputs, and tables on CPUs without the instruction.
#include "bytes/crc32c.hpp"

#include <array>
#include <cstring>

#include "bytes/crc32.hpp"
#include "bytes/crc32c_cpu.hpp"

namespace tbq {
namespace {

constexpr CrcTables kTables = crc_tables(0x82f63b78U);  // Castagnoli, reflected

#if defined(TBQ_CRC_SSE42) || defined(TBQ_CRC_ARMV8)

// A linear operator on CRCs: the effect of appending `zeros` zero bytes, as four tables of 256 entries.
class Shift {
 public:
  explicit Shift(size_t zeros) {
    std::array<uint32_t, 32> op{};
    for (size_t bit = 0; bit < 32; ++bit) {
      uint32_t crc = 1U << bit;
      for (size_t i = 0; i < zeros; ++i) crc = (crc >> 8) ^ kTables[0][crc & 0xff];
      op[bit] = crc;
    }
    for (size_t byte = 0; byte < 4; ++byte) {
      for (uint32_t value = 0; value < 256; ++value) {
        uint32_t sum = 0;
        for (size_t bit = 0; bit < 8; ++bit) {
          if (value >> bit & 1) sum ^= op[byte * 8 + bit];
        }
        tables_[byte][value] = sum;
      }
    }
  }
  uint32_t operator()(uint32_t crc) const {
    return tables_[0][crc & 0xff] ^ tables_[1][crc >> 8 & 0xff] ^ tables_[2][crc >> 16 & 0xff] ^
           tables_[3][crc >> 24];
  }

 private:
  std::array<std::array<uint32_t, 256>, 4> tables_{};
};

constexpr size_t kLong = 4096;
constexpr size_t kShort = 256;
constexpr size_t kTiny = 64;

template <size_t kLane>
TBQ_CRC_TARGET const uint8_t* three_lanes(uint32_t& crc, const uint8_t* data, size_t& size) {
  static const Shift shift(kLane);
  while (size >= 3 * kLane) {
    uint64_t a = crc;
    uint64_t b = 0;
    uint64_t c = 0;
    for (size_t i = 0; i < kLane; i += 8) {
      uint64_t words[3];
      std::memcpy(&words[0], data + i, 8);
      std::memcpy(&words[1], data + kLane + i, 8);
      std::memcpy(&words[2], data + 2 * kLane + i, 8);
      a = cpu_crc_u64(a, words[0]);
      b = cpu_crc_u64(b, words[1]);
      c = cpu_crc_u64(c, words[2]);
    }
    crc = shift(shift(static_cast<uint32_t>(a)) ^ static_cast<uint32_t>(b)) ^ static_cast<uint32_t>(c);
    data += 3 * kLane;
    size -= 3 * kLane;
  }
  return data;
}

TBQ_CRC_TARGET uint32_t crc32c_cpu(uint32_t crc, const uint8_t* data, size_t size) {
  crc = ~crc;
  data = three_lanes<kLong>(crc, data, size);
  data = three_lanes<kShort>(crc, data, size);
  data = three_lanes<kTiny>(crc, data, size);
  return ~cpu_crc_short(crc, data, size);
}

#endif

}  // namespace

uint32_t crc32c_table(uint32_t crc, const uint8_t* data, size_t size) {
  return crc_by(kTables, crc, data, size);
}

uint32_t crc32c(uint32_t crc, const uint8_t* data, size_t size) {
#if defined(TBQ_CRC_SSE42) || defined(TBQ_CRC_ARMV8)
  if (cpu_has_crc()) return crc32c_cpu(crc, data, size);
#endif
  return crc32c_table(crc, data, size);
}

uint32_t crc32c_zeros(uint32_t crc, uint64_t count) {
  using Operator = std::array<uint32_t, 32>;  // the image of each bit
  const auto apply = [](const Operator& op, uint32_t bits) {
    uint32_t sum = 0;
    for (size_t bit = 0; bits != 0; ++bit, bits >>= 1) sum ^= bits & 1 ? op[bit] : 0;
    return sum;
  };
  Operator op{};  // for 1 zero, then 2, 4, 8, …
  for (size_t bit = 0; bit < 32; ++bit) op[bit] = (1U << bit >> 8) ^ kTables[0][1U << bit & 0xff];
  crc = ~crc;
  for (; count > 0; count >>= 1) {
    if (count & 1) crc = apply(op, crc);
    Operator twice{};
    for (size_t bit = 0; bit < 32; ++bit) twice[bit] = apply(op, op[bit]);
    op = twice;
  }
  return ~crc;
}

const char* crc32c_implementation() {
#if defined(TBQ_CRC_SSE42)
  if (cpu_has_crc()) return "sse4.2";
#elif defined(TBQ_CRC_ARMV8)
  if (cpu_has_crc()) return "armv8";
#endif
  return "table";
}

}  // namespace tbq
