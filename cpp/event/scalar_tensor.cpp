// Reads a tensor of one element as a number, and finds the number's position.
#include "event/scalar_tensor.hpp"

#include "event/tensor.hpp"

namespace tbq {
namespace {

// float64 holds every integer up to 2^53, and some beyond.
void set_integer(ScalarTensor& out, int64_t value) {
  out.value = static_cast<double>(value);
  out.rounded = out.value >= 0x1p63 || static_cast<int64_t>(out.value) != value;
}
void set_integer(ScalarTensor& out, uint64_t value) {
  out.value = static_cast<double>(value);
  out.rounded = out.value >= 0x1p64 || static_cast<uint64_t>(out.value) != value;
}

// The number's position if it is stored as plain bytes: in tensor_content, or as the only entry of a packed
// list.
const uint8_t* slot_of(const TensorView& tensor) {
  if (tensor.dtype != Dtype::float32 && tensor.dtype != Dtype::float64) return nullptr;
  const uint32_t list = info(tensor.dtype).list;
  if (!tensor.content.empty()) return tensor.content.data();
  const uint8_t* slot = nullptr;
  Cursor cursor(tensor.proto);
  Field field;
  while (!cursor.empty() && cursor.field(field)) {
    if (field.number != list) continue;
    if (slot || field.wire != Wire::bytes || field.bytes.size() != element_size(tensor.dtype)) return nullptr;
    slot = field.bytes.data();
  }
  return slot;
}

}  // namespace

ScalarTensor scalar_of_tensor(Bytes tensor) {
  ScalarTensor out;
  const TensorView view = read_tensor(tensor);
  if (view.error == TensorError::malformed) return out;
  out.dtype = view.dtype;
  RepeatBudget budget;
  GrowableBuffer<char> bytes;
  GrowableBuffer<double> numbers;
  if (view.count != 1 || copy_numbers(view, budget, bytes) != TensorError::none ||
      !widen_numbers(view.dtype, bytes.data(), 1, numbers)) {
    return out;
  }
  out.valid = true;
  out.value = numbers.data()[0];
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  if (view.dtype == Dtype::int64) set_integer(out, load_le<int64_t>(data));
  if (view.dtype == Dtype::uint64) set_integer(out, load_le<uint64_t>(data));
  out.slot = slot_of(view);
  return out;
}

}  // namespace tbq
