// Reads one JSON text that is a number, exactly; also the words that JSON writers use for other numbers.
#pragma once

#include <cstdint>
#include <string_view>

namespace tbq {

enum class JsonValue : uint8_t {
  real,
  integer,  // whole, beyond 2^53 but within int64, so that a double may not hold it
  null,
  other,  // a text, an object, a list, or not JSON
};

struct JsonNumber {
  JsonValue what = JsonValue::other;
  double real = 0;
  int64_t integer = 0;
};

// true and false are 1 and 0; NaN, Infinity and -Infinity count with and without quotes.
JsonNumber json_number(std::string_view text);

}  // namespace tbq
