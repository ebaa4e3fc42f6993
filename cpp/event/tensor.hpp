// TensorProto: what it claims (dtype, shape), and its elements as little-endian numbers, float64s or strings.
#pragma once

#include <cstdint>
#include <vector>

#include "bytes/cursor.hpp"
#include "event/dtype.hpp"
#include "io/growable_buffer.hpp"

namespace tbq {

enum class TensorError : uint8_t {
  none,
  malformed,  // the protobuf cannot be read
  dtype,      // no dtype, or a dtype whose elements are not in the file (resource, variant)
  shape,      // unknown rank or size, negative sizes, or more dimensions than NumPy has
  overflow,   // more elements than 63 bits can count
  mismatch,   // the data do not fill the shape, or exceed it
  too_large,  // a few values claim to repeat beyond the limit
};
const char* tensor_error_text(TensorError error);

constexpr size_t kMaxRank = 64;  // NumPy's limit

// The limit for bytes that are not in the file but claimed by repetition: for one tensor, and the budget left
// for all.
constexpr uint64_t kLargestRepeat = uint64_t{16} << 20;
struct RepeatBudget {
  uint64_t left = uint64_t{256} << 20;
};

// A tensor before its elements are decoded. It points into the bytes it was read from.
struct TensorView {
  Bytes proto;
  Dtype dtype = Dtype::invalid;
  int64_t dims[kMaxRank] = {};
  size_t rank = 0;
  uint64_t count = 1;  // elements that the shape claims
  Bytes content;
  TensorError error = TensorError::none;

  bool ok() const { return error == TensorError::none; }
  bool is_string() const { return dtype == Dtype::string; }
};
TensorView read_tensor(Bytes proto);

// The dtype and shape, from the first bytes of a tensor: `malformed` if these do not reach to the tensor's
// end.
TensorView read_tensor_head(Bytes head);

// Appends all elements as little-endian bytes; on failure nothing is appended.
TensorError copy_numbers(const TensorView& tensor, RepeatBudget& budget, GrowableBuffer<char>& out);

// Whether copy_numbers would succeed.
TensorError check_numbers(const TensorView& tensor, RepeatBudget& budget);

// All elements as float64, for real dtypes; on failure `out` is empty.
TensorError copy_doubles(const TensorView& tensor, RepeatBudget& budget, GrowableBuffer<double>& out);

// Converts `count` elements, in the layout of copy_numbers, to float64 and appends them; false if the dtype
// is not real.
bool widen_numbers(Dtype dtype, const char* from, size_t count, GrowableBuffer<double>& out);

// The elements of a string tensor as views into the proto; on failure `out` is empty.
TensorError copy_strings(const TensorView& tensor, RepeatBudget& budget, std::vector<Bytes>& out);

}  // namespace tbq
