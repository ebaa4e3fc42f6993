// Encodes Event, Summary.Value and the three tensors that hold scalars.
#include "write/encode.hpp"

#include <bit>

#include "event/dtype.hpp"
#include "event/head.hpp"

namespace tbq {
namespace {

// SummaryMetadata { plugin_data { plugin_name: "scalars" } }
constexpr std::string_view kScalarsMetadata("\x0a\x09\x0a\x07scalars", 11);

constexpr uint8_t kTensorKey = schema::key(schema::Value::tensor, Wire::bytes);
constexpr uint8_t kTensorDtype = schema::key(schema::Tensor::dtype, Wire::varint);
constexpr uint8_t kTensorFloat = schema::key(schema::Tensor::float_val, Wire::bytes);
constexpr uint8_t kTensorDouble = schema::key(schema::Tensor::double_val, Wire::bytes);
constexpr uint8_t kTensorInt64 = schema::key(schema::Tensor::int64_val, Wire::bytes);

bool on_wire(double value) { return std::bit_cast<uint64_t>(value) != 0; }

size_t tensor_size(const Scalar& scalar) {
  switch (scalar.style) {
    case ScalarStyle::tensor_float:
      return 2 + 2 + 4;
    case ScalarStyle::tensor_double:
      return 2 + 2 + 8;
    case ScalarStyle::tensor_int64:
      return 2 + field_size(varint_size(static_cast<uint64_t>(scalar.integer)));
    case ScalarStyle::simple:
      break;
  }
  return 0;
}

std::string_view metadata_of(const Scalar& scalar) {
  if (!scalar.metadata.empty() || scalar.style == ScalarStyle::simple) return scalar.metadata;
  return kScalarsMetadata;
}

}  // namespace

size_t stamp_size(Stamp stamp) {
  return (on_wire(stamp.wall_time) ? 9 : 0) +
         (stamp.step != 0 ? 1 + varint_size(static_cast<uint64_t>(stamp.step)) : 0);
}

void put_stamp(WireWriter& out, Stamp stamp) {
  if (on_wire(stamp.wall_time)) {
    out.byte(kWallTimeKey);
    out.fixed(stamp.wall_time);
  }
  if (stamp.step != 0) {
    out.byte(kStepKey);
    out.varint(static_cast<uint64_t>(stamp.step));
  }
}

size_t value_size(const Scalar& scalar) {
  const std::string_view metadata = metadata_of(scalar);
  return field_size(scalar.tag.size()) +
         (scalar.style == ScalarStyle::simple ? 5 : field_size(tensor_size(scalar))) +
         (metadata.empty() ? 0 : field_size(metadata.size()));
}

void put_value(WireWriter& out, const Scalar& scalar) {
  out.field(kTagKey, scalar.tag);
  if (scalar.style == ScalarStyle::simple) {
    out.byte(kSimpleValueKey);
    out.fixed(static_cast<float>(scalar.real));
  } else {
    out.open(kTensorKey, tensor_size(scalar));
    out.byte(kTensorDtype);
    if (scalar.style == ScalarStyle::tensor_float) {
      out.byte(static_cast<uint8_t>(Dtype::float32));
      out.open(kTensorFloat, 4);
      out.fixed(static_cast<float>(scalar.real));
    } else if (scalar.style == ScalarStyle::tensor_double) {
      out.byte(static_cast<uint8_t>(Dtype::float64));
      out.open(kTensorDouble, 8);
      out.fixed(scalar.real);
    } else {
      out.byte(static_cast<uint8_t>(Dtype::int64));
      out.open(kTensorInt64, varint_size(static_cast<uint64_t>(scalar.integer)));
      out.varint(static_cast<uint64_t>(scalar.integer));
    }
  }
  const std::string_view metadata = metadata_of(scalar);
  if (!metadata.empty()) out.field(kMetadataKey, metadata);
}

std::vector<uint8_t> packed_varints(std::span<const int64_t> values) {
  size_t size = 0;
  for (const int64_t value : values) size += varint_size(static_cast<uint64_t>(value));
  std::vector<uint8_t> packed(size);
  WireWriter out(packed.data());
  for (const int64_t value : values) out.varint(static_cast<uint64_t>(value));
  return packed;
}

}  // namespace tbq
