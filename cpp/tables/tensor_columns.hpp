// Columns for tensors, and for bytes wrapped in tensors.
#pragma once

#include <memory>
#include <vector>

#include "event/tensor.hpp"
#include "tables/expander.hpp"

namespace tbq {

// The names of all dtypes; the code of a name is the dtype's number.
std::shared_ptr<const Column> dtype_dictionary();

// The columns dtype, shape and data of a tensor. If the tensor cannot be decoded, the shape is null and the
// data are the protobuf. `owner` decides which columns are filled.
class TensorColumns {
 public:
  explicit TensorColumns(const Expander& owner) : owner_(owner) {}
  TensorError append(const Value& value);
  void append_null();
  // Appends bytes without a dtype and a shape.
  void append_raw(Bytes bytes);
  void finish(Batch& batch);

 private:
  const Expander& owner_;
  LabelBuilder dtype_{dtype_dictionary()};
  ListBuilder<int64_t> shape_;
  BytesBuilder data_{"Z"};
  RepeatBudget budget_;
  std::vector<Bytes> texts_;
};

// The first string of a string tensor (plugins wrap their bytes in one), or the payload itself if it is not a
// tensor.
TensorError wrapped_bytes(const Value& value, RepeatBudget& budget, Bytes& out);

}  // namespace tbq
