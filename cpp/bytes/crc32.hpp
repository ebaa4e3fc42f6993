// CRC-32 as zlib computes it, eight bytes at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tbq {

namespace crc32_detail {

constexpr std::array<std::array<uint32_t, 256>, 8> make_tables() {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
    tables[0][i] = crc;
  }
  for (uint32_t i = 0; i < 256; ++i) {
    for (size_t t = 1; t < 8; ++t) {
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xff];
    }
  }
  return tables;
}

inline constexpr auto kTables = make_tables();

}  // namespace crc32_detail

inline uint32_t crc32(const uint8_t* data, size_t size) {
  const auto& tables = crc32_detail::kTables;
  uint32_t crc = ~uint32_t{0};
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

}  // namespace tbq
