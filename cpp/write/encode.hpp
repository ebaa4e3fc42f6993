// Encodes scalars and stamps: computes sizes first, so that every byte is written once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "bytes/wire.hpp"

namespace tbq {

// When an event happened. An event without its own step has step 0, and does not affect where a run resumes.
struct Stamp {
  double wall_time = 0;
  int64_t step = 0;
  bool has_step = false;
};

enum class ScalarStyle : uint8_t {
  simple,        // simple_value, float32: what torch writes
  tensor_float,  // a one-element tensor of plugin `scalars`
  tensor_double,
  tensor_int64,
};

struct Scalar {
  std::string_view tag;
  ScalarStyle style = ScalarStyle::simple;
  double real = 0;
  int64_t integer = 0;        // for tensor_int64
  std::string_view metadata;  // an encoded SummaryMetadata, or empty
};

// The first fields of an event: wall time and step.
size_t stamp_size(Stamp stamp);
void put_stamp(WireWriter& out, Stamp stamp);

// The Summary.Value of a scalar.
size_t value_size(const Scalar& scalar);
void put_value(WireWriter& out, const Scalar& scalar);

// `values` as consecutive varints: the content of a packed integer field.
std::vector<uint8_t> packed_varints(std::span<const int64_t> values);

}  // namespace tbq
