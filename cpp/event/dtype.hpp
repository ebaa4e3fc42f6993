// The dtypes of TensorProto: names, sizes, and the fields that hold their elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include "event/schema.hpp"

namespace tbq {

// TensorProto.dtype, without the _REF offset of 100.
enum class Dtype : uint8_t {
  invalid,
  float32,
  float64,
  int32,
  uint8,
  int16,
  int8,
  string,
  complex64,
  int64,
  boolean,
  qint8,
  quint8,
  qint32,
  bfloat16,
  qint16,
  quint16,
  uint16,
  complex128,
  float16,
  resource,
  variant,
  uint32,
  uint64,
  float8_e5m2,
  float8_e4m3fn,
  float8_e4m3fnuz,
  float8_e4m3b11fnuz,
  float8_e5m2fnuz,
  int4,
  uint4,
  int2,
  uint2,
  float4_e2m1fn,
};
constexpr size_t kDtypeCount = 34;

struct DtypeInfo {
  const char* name;  // the name in NumPy and ml_dtypes; "" if there is none
  uint8_t size;      // bytes per element as tbq stores it: sub-byte dtypes take one; 0 without a fixed size
  uint32_t list;     // the field of TensorProto that holds elements of this dtype; 0 if there is none
  bool integer;
};

// In the order of Dtype.
inline constexpr DtypeInfo kDtypes[kDtypeCount] = {
    {"", 0, 0, false},
    {"float32", 4, schema::Tensor::float_val, false},
    {"float64", 8, schema::Tensor::double_val, false},
    {"int32", 4, schema::Tensor::int_val, true},
    {"uint8", 1, schema::Tensor::int_val, true},
    {"int16", 2, schema::Tensor::int_val, true},
    {"int8", 1, schema::Tensor::int_val, true},
    {"string", 0, schema::Tensor::string_val, false},
    {"complex64", 8, schema::Tensor::scomplex_val, false},
    {"int64", 8, schema::Tensor::int64_val, true},
    {"bool", 1, schema::Tensor::bool_val, false},
    {"qint8", 1, schema::Tensor::int_val, true},
    {"quint8", 1, schema::Tensor::int_val, true},
    {"qint32", 4, schema::Tensor::int_val, true},
    {"bfloat16", 2, schema::Tensor::half_val, false},
    {"qint16", 2, schema::Tensor::int_val, true},
    {"quint16", 2, schema::Tensor::int_val, true},
    {"uint16", 2, schema::Tensor::int_val, true},
    {"complex128", 16, schema::Tensor::dcomplex_val, false},
    {"float16", 2, schema::Tensor::half_val, false},
    {"resource", 0, 0, false},
    {"variant", 0, 0, false},
    {"uint32", 4, schema::Tensor::uint32_val, true},
    {"uint64", 8, schema::Tensor::uint64_val, true},
    {"float8_e5m2", 1, schema::Tensor::float8_val, false},
    {"float8_e4m3fn", 1, schema::Tensor::float8_val, false},
    {"float8_e4m3fnuz", 1, schema::Tensor::float8_val, false},
    {"float8_e4m3b11fnuz", 1, schema::Tensor::float8_val, false},
    {"float8_e5m2fnuz", 1, schema::Tensor::float8_val, false},
    {"int4", 1, schema::Tensor::int_val, true},
    {"uint4", 1, schema::Tensor::int_val, true},
    {"int2", 1, schema::Tensor::int_val, true},
    {"uint2", 1, schema::Tensor::int_val, true},
    {"float4_e2m1fn", 1, schema::Tensor::float8_val, false},
};

constexpr const DtypeInfo& info(Dtype dtype) { return kDtypes[static_cast<size_t>(dtype)]; }

// The dtype with this number in a file (reference dtypes have 100 more); `invalid` if there is none.
constexpr Dtype dtype_of(uint64_t number) {
  if (number > 100) number -= 100;
  return number < kDtypeCount ? static_cast<Dtype>(number) : Dtype::invalid;
}

// "float32" for 1, "" for an unknown number.
constexpr const char* dtype_name(uint64_t number) { return info(dtype_of(number)).name; }

// 0 for strings and for dtypes that tbq cannot store.
constexpr size_t element_size(Dtype dtype) { return info(dtype).size; }

}  // namespace tbq
