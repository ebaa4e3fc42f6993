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
  explicit TensorColumns(Expander& owner) : owner_(owner) {}
  TensorError append(const Value& value);
  // Appends bytes without a dtype and a shape.
  void append_raw(Bytes bytes);

 private:
  Expander& owner_;
  LabelColumn dtype_{owner_, "dtype", dtype_dictionary()};
  Named<ListBuilder<int64_t>> shape_{owner_, "shape"};
  BytesColumn data_{owner_, "data", "Z"};
  RepeatBudget budget_;
  std::vector<Bytes> texts_;
};

// The first string of a string tensor (plugins wrap their bytes in one), or the payload itself if it is not a
// tensor.
TensorError wrapped_bytes(const Value& value, RepeatBudget& budget, Bytes& out);

}  // namespace tbq
