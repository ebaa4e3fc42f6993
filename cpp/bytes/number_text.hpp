// Writes integers, dates and floats as text. Floats have the shortest form that reads back, laid out like
// Python's repr.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tbq {

// The room that the caller provides at `to`: more than the longest number, because whole words are copied.
inline constexpr size_t kNumberChars = 56;

// Each function writes at `to` and returns the end of the text.
char* write_int64(char* to, int64_t value);

// A finite value. If `narrow` is set and the value is exactly a float32, it gets only the digits that a
// float32 needs (0.1 for 0.10000000149011612). Whole numbers keep all their digits, which read back as either
// type.
char* write_float64(char* to, double value, bool narrow);

// A finite float32, as write_float64 writes it with `narrow`.
char* write_float32(char* to, float value);

// Microseconds since 1970 as 2023-11-14T22:13:20.000000Z; clamped to the years 0 to 9999.
char* write_timestamp(char* to, int64_t microseconds);

}  // namespace tbq
