// Tensors as columns, and bytes that are wrapped in tensors.
#pragma once

#include <memory>
#include <vector>

#include "event/tensor.hpp"
#include "tables/expander.hpp"

namespace tbq {

// The names of all dtypes, coded by their numbers.
std::shared_ptr<const Column> dtype_dictionary();

// dtype, shape and data of a tensor. If it cannot be decoded the shape is null, and the data are the
// protobuf. `owner` says which of them are wanted.
class TensorColumns {
 public:
  explicit TensorColumns(const Expander& owner) : owner_(owner) {}
  TensorError append(const Value& value);
  void append_null();
  // Bytes without a dtype and a shape.
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

// The first string of a string tensor (what plugins wrap their bytes in); the payload itself if it is not a
// tensor.
TensorError wrapped_bytes(const Value& value, RepeatBudget& budget, Bytes& out);

}  // namespace tbq
