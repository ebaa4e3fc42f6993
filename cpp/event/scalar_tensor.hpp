// The one number of a TensorProto that TF2 logs as a scalar, in any numeric dtype.
#pragma once

#include <cstdint>

#include "bytes/cursor.hpp"
#include "event/dtype.hpp"

namespace tbq {

// The value of a tensor of exactly one number. `dtype` is set whenever the protobuf could be read.
struct ScalarTensor {
  bool valid = false;
  double value = 0;
  Dtype dtype = Dtype::invalid;
  bool rounded = false;           // a 64-bit integer that float64 cannot hold exactly
  const uint8_t* slot = nullptr;  // position of a float32 or float64, if it is stored as plain bytes
};
ScalarTensor scalar_of_tensor(Bytes tensor);

}  // namespace tbq
