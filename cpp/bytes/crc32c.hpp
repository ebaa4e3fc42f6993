// Masked CRC32C as TFRecord uses it: by CPU instruction if there is one (chosen at run time), otherwise by
// table.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tbq {

// CRC32C of `size` bytes that follow data whose CRC is `crc` (0 to start).
uint32_t crc32c(uint32_t crc, const uint8_t* data, size_t size);

// The same of `count` zeros, in no time.
uint32_t crc32c_zeros(uint32_t crc, uint64_t count);

// The same by table, whatever the CPU: the fallback, and the oracle of the tests.
uint32_t crc32c_table(uint32_t crc, const uint8_t* data, size_t size);

constexpr uint32_t crc_mask(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8U; }

// "sse4.2", "armv8" or "table": what crc32c() uses on this machine.
const char* crc32c_implementation();

}  // namespace tbq
