// CRCs by tables, eight bytes at a time: CRC-32 as zlib computes it, and CRC32C on CPUs without its
// instruction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tbq {

using CrcTables = std::array<std::array<uint32_t, 256>, 8>;

// For a reflected polynomial.
constexpr CrcTables crc_tables(uint32_t polynomial) {
  CrcTables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
    tables[0][i] = crc;
  }
  for (uint32_t i = 0; i < 256; ++i) {
    for (size_t t = 1; t < 8; ++t) {
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xff];
    }
  }
  return tables;
}

// The CRC of `size` bytes that follow data whose CRC is `crc` (0 to start).
inline uint32_t crc_by(const CrcTables& tables, uint32_t crc, const uint8_t* data, size_t size) {
  crc = ~crc;
  for (; size >= 8; data += 8, size -= 8) {
    uint32_t low;
    uint32_t high;
    std::memcpy(&low, data, 4);
    std::memcpy(&high, data + 4, 4);
    low ^= crc;
    crc = tables[7][low & 0xff] ^ tables[6][low >> 8 & 0xff] ^ tables[5][low >> 16 & 0xff] ^
          tables[4][low >> 24] ^ tables[3][high & 0xff] ^ tables[2][high >> 8 & 0xff] ^
          tables[1][high >> 16 & 0xff] ^ tables[0][high >> 24];
  }
  for (; size > 0; ++data, --size) crc = (crc >> 8) ^ tables[0][(crc ^ *data) & 0xff];
  return ~crc;
}

inline uint32_t crc32(const uint8_t* data, size_t size) {
  static constexpr CrcTables kTables = crc_tables(0xedb88320U);
  return crc_by(kTables, 0, data, size);
}

}  // namespace tbq
