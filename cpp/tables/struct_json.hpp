// Reads google.protobuf.Value and converts it to JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bytes/cursor.hpp"

namespace tbq {

enum ValueType : int32_t { kNumber, kText, kBool, kNull, kList, kStruct };

// The content of a Value; its last field wins.
struct Held {
  int32_t type = kNull;
  double number = 0;
  bool flag = false;
  Bytes bytes;
};

// Returns false if `value` is malformed; so do all functions below.
bool read_value(Bytes value, Held& out);

// The key and the value of a map's entry.
bool read_entry(Bytes entry, std::string_view& key, Bytes& value);

constexpr int kDeepestJson = 32;

// Appends a Value, or a ListValue, as JSON; also false if it is nested deeper than `depth`.
bool json_value(Bytes value, std::string& out, int depth = kDeepestJson);
bool json_list(Bytes list, std::string& out, int depth = kDeepestJson);

}  // namespace tbq
