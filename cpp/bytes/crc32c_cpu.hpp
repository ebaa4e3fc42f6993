// Wraps the CPU's CRC32C instruction, if the compiler supports one. A function that uses it carries
// TBQ_CRC_TARGET and must run only if cpu_has_crc() returned true.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__) || defined(_M_X64)
#define TBQ_CRC_SSE42 1
#include <nmmintrin.h>
#ifdef _MSC_VER
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#if defined(_MSC_VER) && !defined(__clang__)
#define TBQ_CRC_TARGET
#define TBQ_CRC_INLINE __forceinline
#elif defined(__clang__)  // clang's intrinsics need "crc32", which old versions of GCC do not know
#define TBQ_CRC_TARGET __attribute__((target("sse4.2,crc32")))
#define TBQ_CRC_INLINE inline __attribute__((always_inline, target("sse4.2,crc32")))
#else
#define TBQ_CRC_TARGET __attribute__((target("sse4.2")))
#define TBQ_CRC_INLINE inline __attribute__((always_inline, target("sse4.2")))
#endif
#elif defined(__aarch64__) && (defined(__linux__) || defined(__APPLE__))
#define TBQ_CRC_ARMV8 1
#ifdef __clang__
#define TBQ_CRC_TARGET __attribute__((target("crc")))
#define TBQ_CRC_INLINE inline __attribute__((always_inline, target("crc")))
#else
#define TBQ_CRC_TARGET __attribute__((target("+crc")))
#define TBQ_CRC_INLINE inline __attribute__((always_inline, target("+crc")))
#endif
#include <arm_acle.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif
#endif

namespace tbq {

#if defined(TBQ_CRC_SSE42)

inline bool cpu_has_crc() {
  // Not __builtin_cpu_supports: its runtime is missing where a program is not linked by the system's
  // compiler.
  static const bool has = [] {
#ifdef _MSC_VER
    int info[4];
    __cpuid(info, 1);
    const auto features = static_cast<unsigned>(info[2]);
#else
    unsigned eax = 0, ebx = 0, features = 0, edx = 0;
    if (__get_cpuid(1, &eax, &ebx, &features, &edx) == 0) return false;
#endif
    return (features >> 20 & 1) != 0;
  }();
  return has;
}
TBQ_CRC_INLINE uint64_t cpu_crc_u64(uint64_t crc, uint64_t word) { return _mm_crc32_u64(crc, word); }
TBQ_CRC_INLINE uint32_t cpu_crc_u32(uint32_t crc, uint32_t word) { return _mm_crc32_u32(crc, word); }
TBQ_CRC_INLINE uint32_t cpu_crc_u16(uint32_t crc, uint16_t word) { return _mm_crc32_u16(crc, word); }
TBQ_CRC_INLINE uint32_t cpu_crc_u8(uint32_t crc, uint8_t byte) { return _mm_crc32_u8(crc, byte); }

#elif defined(TBQ_CRC_ARMV8)

inline bool cpu_has_crc() {
#ifdef __APPLE__
  return true;  // every Apple CPU of this architecture has the instruction
#else
  static const bool has = (getauxval(AT_HWCAP) >> 7 & 1) != 0;  // HWCAP_CRC32
  return has;
#endif
}
TBQ_CRC_INLINE uint64_t cpu_crc_u64(uint64_t crc, uint64_t word) {
  return __crc32cd(static_cast<uint32_t>(crc), word);
}
TBQ_CRC_INLINE uint32_t cpu_crc_u32(uint32_t crc, uint32_t word) { return __crc32cw(crc, word); }
TBQ_CRC_INLINE uint32_t cpu_crc_u16(uint32_t crc, uint16_t word) { return __crc32ch(crc, word); }
TBQ_CRC_INLINE uint32_t cpu_crc_u8(uint32_t crc, uint8_t byte) { return __crc32cb(crc, byte); }

#endif

#if defined(TBQ_CRC_SSE42) || defined(TBQ_CRC_ARMV8)
// One stream, for inputs too short for lanes. `crc` is uninverted, both as argument and as result.
TBQ_CRC_INLINE uint32_t cpu_crc_short(uint32_t crc, const uint8_t* data, size_t size) {
  uint64_t wide = crc;
  while (size >= 8) {
    uint64_t word;
    std::memcpy(&word, data, 8);
    wide = cpu_crc_u64(wide, word);
    data += 8;
    size -= 8;
  }
  crc = static_cast<uint32_t>(wide);
  if (size & 4) {
    uint32_t word;
    std::memcpy(&word, data, 4);
    crc = cpu_crc_u32(crc, word);
    data += 4;
  }
  if (size & 2) {
    uint16_t word;
    std::memcpy(&word, data, 2);
    crc = cpu_crc_u16(crc, word);
    data += 2;
  }
  if (size & 1) crc = cpu_crc_u8(crc, *data);
  return crc;
}
#endif

}  // namespace tbq
