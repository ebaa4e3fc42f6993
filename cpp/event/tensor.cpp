// Reads what a TensorProto claims, and the elements of string tensors.
#include "event/tensor.hpp"

namespace tbq {

const char* tensor_error_text(TensorError error) {
  static constexpr const char* texts[] = {
      "",
      "the tensor's protobuf cannot be read",
      "tensors of this dtype cannot be decoded",
      "the tensor's shape is unknown, negative or has more than 64 dimensions",
      "the tensor's shape claims more elements than can be counted",
      "the tensor's data do not fit its shape",
      "the tensor claims to repeat a few values into more than 16 MiB",
  };
  return texts[static_cast<size_t>(error)];
}

namespace {

bool read_dim(Bytes bytes, int64_t& size) {
  size = 0;
  return each_field(bytes, [&](const Field& field) {
    if (field.is(schema::Dim::size, Wire::varint)) size = field.as_int64();
  });
}

TensorError read_shape(Bytes bytes, TensorView& out) {
  Cursor cursor(bytes);
  Field field;
  bool unknown = false;
  while (!cursor.empty()) {
    if (!cursor.field(field)) return TensorError::malformed;
    if (field.is(schema::TensorShape::unknown_rank, Wire::varint)) unknown = field.value != 0;
    if (!field.is(schema::TensorShape::dim, Wire::bytes)) continue;
    if (out.rank == kMaxRank) return TensorError::shape;
    int64_t size;
    if (!read_dim(field.bytes, size)) return TensorError::malformed;
    out.dims[out.rank++] = size;
  }
  if (unknown) return TensorError::shape;
  bool empty = false;
  for (size_t i = 0; i < out.rank; ++i) {
    if (out.dims[i] < 0) return TensorError::shape;
    empty = empty || out.dims[i] == 0;
  }
  if (empty) {
    out.count = 0;
    return TensorError::none;
  }
  for (size_t i = 0; i < out.rank; ++i) {
    const auto size = static_cast<uint64_t>(out.dims[i]);
    if (size > static_cast<uint64_t>(INT64_MAX) / out.count) return TensorError::overflow;
    out.count *= size;
  }
  return TensorError::none;
}

}  // namespace

TensorView read_tensor(Bytes proto) {
  TensorView out;
  out.proto = proto;
  Bytes shape;
  uint64_t dtype = 0;
  const bool valid = each_field(proto, [&](const Field& field) {
    if (field.is(schema::Tensor::dtype, Wire::varint)) dtype = field.value;
    if (field.is(schema::Tensor::shape, Wire::bytes)) shape = field.bytes;
    if (field.is(schema::Tensor::content, Wire::bytes)) out.content = field.bytes;
  });
  if (!valid) {
    out.error = TensorError::malformed;
    return out;
  }
  out.dtype = dtype_of(dtype);
  out.error = read_shape(shape, out);
  if (out.ok() && element_size(out.dtype) == 0 && !out.is_string()) out.error = TensorError::dtype;
  return out;
}

TensorView read_tensor_head(Bytes head) {
  TensorView out;
  out.proto = head;
  out.error = TensorError::malformed;
  Cursor cursor(head);
  Field field;
  while (!cursor.empty() && cursor.field(field)) {
    if (field.is(schema::Tensor::dtype, Wire::varint)) out.dtype = dtype_of(field.value);
    if (!field.is(schema::Tensor::shape, Wire::bytes)) continue;
    out.error = read_shape(field.bytes, out);
    break;
  }
  return out;
}

TensorError copy_strings(const TensorView& tensor, RepeatBudget& budget, std::vector<Bytes>& out) {
  out.clear();
  if (!tensor.ok()) return tensor.error;
  if (!tensor.is_string()) return TensorError::dtype;
  if (!tensor.content.empty()) {  // TensorFlow's layout: all lengths, then all bytes
    Cursor cursor(tensor.content);
    if (tensor.count > tensor.content.size()) return TensorError::mismatch;
    std::vector<uint64_t> lengths;
    for (uint64_t i = 0; i < tensor.count; ++i) {
      uint64_t length;
      if (!cursor.varint(length)) return TensorError::mismatch;
      lengths.push_back(length);
    }
    for (const uint64_t length : lengths) {
      Bytes text;
      if (!cursor.bytes(length, text)) {
        out.clear();
        return TensorError::mismatch;
      }
      out.push_back(text);
    }
    if (!cursor.empty()) out.clear();
    return cursor.empty() ? TensorError::none : TensorError::mismatch;
  }
  const bool valid = each_field(tensor.proto, [&](const Field& field) {
    if (field.is(schema::Tensor::string_val, Wire::bytes)) out.push_back(field.bytes);
  });
  if (!valid) {
    out.clear();
    return TensorError::malformed;
  }
  if (out.size() > tensor.count) {
    out.clear();
    return TensorError::mismatch;
  }
  const uint64_t missing = tensor.count - out.size();
  if (missing > 0) {
    const Bytes last = out.empty() ? Bytes() : out.back();
    const uint64_t each = last.size() + sizeof(Bytes);
    if (missing > kLargestRepeat / each || missing * each > budget.left) {
      out.clear();
      return TensorError::too_large;
    }
    budget.left -= missing * each;
    out.insert(out.end(), static_cast<size_t>(missing), last);
  }
  return TensorError::none;
}

}  // namespace tbq
