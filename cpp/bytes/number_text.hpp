// Numbers as text: integers, dates, and floats in the shortest form that reads back, laid out as Python's
// repr does.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tbq {

// The bytes that the caller has ready at `to`: more than the longest number, since whole words are copied.
inline constexpr size_t kNumberChars = 56;

// Each writes at `to` and returns the end of what it wrote.
char* write_int64(char* to, int64_t value);

// A finite value. Where `narrow` is set and the value is exactly a float32, the digits are those that a
// float32 needs (0.1 for 0.10000000149011612); whole numbers keep all their digits, which read back as either
// type.
char* write_float64(char* to, double value, bool narrow);

// A finite float32, as write_float64 writes it with `narrow`.
char* write_float32(char* to, float value);

// Microseconds since 1970 as 2023-11-14T22:13:20.000000Z; what is outside of the years 0 to 9999 is clamped.
char* write_timestamp(char* to, int64_t microseconds);

}  // namespace tbq
