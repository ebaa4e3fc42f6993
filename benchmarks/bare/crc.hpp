// Masked CRC32C by the CPU's instruction; does not compile for CPUs without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE4_2__)
#include <nmmintrin.h>
inline uint64_t crc_u64(uint64_t crc, uint64_t word) { return _mm_crc32_u64(crc, word); }
inline uint32_t crc_u32(uint32_t crc, uint32_t word) { return _mm_crc32_u32(crc, word); }
inline uint32_t crc_u16(uint32_t crc, uint16_t word) { return _mm_crc32_u16(crc, word); }
inline uint32_t crc_u8(uint32_t crc, uint8_t byte) { return _mm_crc32_u8(crc, byte); }
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
inline uint64_t crc_u64(uint64_t crc, uint64_t word) { return __crc32cd(static_cast<uint32_t>(crc), word); }
inline uint32_t crc_u32(uint32_t crc, uint32_t word) { return __crc32cw(crc, word); }
inline uint32_t crc_u16(uint32_t crc, uint16_t word) { return __crc32ch(crc, word); }
inline uint32_t crc_u8(uint32_t crc, uint8_t byte) { return __crc32cb(crc, byte); }
#else
#error "compile with -march=native on a CPU that has a CRC32C instruction"
#endif

template <class T>
inline T load(const uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

inline uint32_t mask_crc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

inline uint32_t masked_crc_u64(uint64_t word) {
  return mask_crc(~static_cast<uint32_t>(crc_u64(0xffffffffu, word)));
}

inline uint32_t masked_crc(const uint8_t* p, size_t size) {
  uint64_t wide = 0xffffffffu;
  for (; size >= 8; p += 8, size -= 8) wide = crc_u64(wide, load<uint64_t>(p));
  uint32_t crc = static_cast<uint32_t>(wide);
  if (size & 4) crc = crc_u32(crc, load<uint32_t>(p)), p += 4;
  if (size & 2) crc = crc_u16(crc, load<uint16_t>(p)), p += 2;
  if (size & 1) crc = crc_u8(crc, *p);
  return mask_crc(~crc);
}
