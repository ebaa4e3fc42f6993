// Masked CRC32C as TFRecord uses it: by CPU instruction if the CPU has it (chosen at run time), otherwise by
// table.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tbq {

// CRC32C of `size` bytes that follow data whose CRC is `crc` (0 to start).
uint32_t crc32c(uint32_t crc, const uint8_t* data, size_t size);

// CRC32C of `count` zero bytes that follow data whose CRC is `crc`, in logarithmic time.
uint32_t crc32c_zeros(uint32_t crc, uint64_t count);

// The same as crc32c(), always by table: the fallback, and the oracle for the tests.
uint32_t crc32c_table(uint32_t crc, const uint8_t* data, size_t size);

constexpr uint32_t crc_mask(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8U; }

// The implementation that crc32c() uses on this machine: "sse4.2", "armv8" or "table".
const char* crc32c_implementation();

}  // namespace tbq
