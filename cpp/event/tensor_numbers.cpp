// Reads the numbers of a TensorProto: from tensor_content or from typed lists, packed or not; short lists are
// repeated.
#include <bit>
#include <cstring>

#include "bytes/half.hpp"
#include "event/tensor.hpp"

namespace tbq {
namespace {

// Appends the element that a varint encodes.
void push_varint(Dtype dtype, uint32_t list, uint64_t raw, GrowableBuffer<char>& out) {
  char bytes[8];
  const size_t size = element_size(dtype);
  if (list == schema::Tensor::half_val) {
    const auto bits = static_cast<uint32_t>(raw);
    auto half = static_cast<uint16_t>(bits);
    if (bits > 0xffff) {  // torch stores float32 bits here, which are never below 2^16 except for zero
      const auto value = std::bit_cast<float>(bits);
      half = dtype == Dtype::bfloat16 ? bfloat_of_float(value) : half_of_float(value);
    }
    std::memcpy(bytes, &half, 2);
  } else if (list == schema::Tensor::bool_val) {
    bytes[0] = raw != 0;
  } else {
    std::memcpy(bytes, &raw, 8);  // two's complement: the low bytes are the element
  }
  out.append(bytes, size);
}

// The list that holds this tensor's elements: the dtype's own list. If that is empty, another list that can
// hold them, because torch stores uint8 in uint32_val.
uint32_t list_of(const TensorView& tensor) {
  const uint32_t own = info(tensor.dtype).list;
  const bool integer = info(tensor.dtype).integer;
  uint32_t other = own;
  Cursor cursor(tensor.proto);
  Field field;
  while (!cursor.empty() && cursor.field(field)) {
    if (field.wire == Wire::bytes && field.bytes.empty()) continue;
    if (field.number == own) return own;
    const bool any_integer =
        field.number == schema::Tensor::int_val || field.number == schema::Tensor::int64_val ||
        field.number == schema::Tensor::uint32_val || field.number == schema::Tensor::uint64_val;
    const bool can_hold =
        integer ? any_integer
                : tensor.dtype == Dtype::float4_e2m1fn && field.number == schema::Tensor::int_val;
    if (can_hold && other == own) other = field.number;
  }
  return other;
}

// Appends a field of fixed-width elements, or of one such element.
TensorError push_fixed(const Field& field, Wire single, size_t size, GrowableBuffer<char>& out) {
  if (field.wire == single) {
    out.append(reinterpret_cast<const char*>(&field.value), size);
    return TensorError::none;
  }
  if (field.wire != Wire::bytes || field.bytes.size() % size != 0) return TensorError::malformed;
  out.append(reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size());
  return TensorError::none;
}

// Appends the elements of one field of the list.
TensorError push_field(Dtype dtype, const Field& field, GrowableBuffer<char>& out) {
  switch (field.number) {
    case schema::Tensor::float_val:
    case schema::Tensor::scomplex_val:
      return push_fixed(field, Wire::fixed32, 4, out);
    case schema::Tensor::double_val:
    case schema::Tensor::dcomplex_val:
      return push_fixed(field, Wire::fixed64, 8, out);
    case schema::Tensor::float8_val:
      if (field.wire != Wire::bytes) return TensorError::malformed;
      out.append(reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size());
      return TensorError::none;
    default:
      break;
  }
  if (field.wire == Wire::varint) {
    push_varint(dtype, field.number, field.value, out);
    return TensorError::none;
  }
  if (field.wire != Wire::bytes) return TensorError::malformed;
  Cursor cursor(field.bytes);
  uint64_t raw;
  while (!cursor.empty()) {
    if (!cursor.varint(raw)) return TensorError::malformed;
    push_varint(dtype, field.number, raw, out);
  }
  return TensorError::none;
}

// Whether tensor_content of this length holds exactly all elements.
bool fills(const TensorView& tensor, uint64_t length) {
  const size_t size = element_size(tensor.dtype);
  return length % size == 0 && length / size == tensor.count;
}

// Whether `stored` bytes of elements may repeat up to the claimed count; charges the budget.
TensorError room_for(uint64_t count, size_t size, uint64_t stored, RepeatBudget& budget) {
  if (stored % size != 0 || stored / size > count) return TensorError::mismatch;
  const uint64_t missing = count - stored / size;
  if (missing > kLargestRepeat / size || missing * size > budget.left) return TensorError::too_large;
  budget.left -= missing * size;
  return TensorError::none;
}

// Fills up to the claimed count with the last element, or with zeros if there is none.
TensorError repeat(uint64_t count, size_t size, size_t start, RepeatBudget& budget,
                   GrowableBuffer<char>& out) {
  const size_t stored = out.size() - start;
  if (const TensorError wrong = room_for(count, size, stored, budget); wrong != TensorError::none)
    return wrong;
  const uint64_t have = stored / size;
  const uint64_t missing = count - have;
  if (missing == 0) return TensorError::none;
  char* to = out.extend(static_cast<size_t>(missing) * size);
  if (have == 0) {
    std::memset(to, 0, static_cast<size_t>(missing) * size);
    return TensorError::none;
  }
  char last[16];
  std::memcpy(last, to - size, size);
  for (uint64_t i = 0; i < missing; ++i) std::memcpy(to + i * size, last, size);
  return TensorError::none;
}

TensorError copy_lists(const TensorView& tensor, RepeatBudget& budget, GrowableBuffer<char>& out) {
  const size_t start = out.size();
  const size_t size = element_size(tensor.dtype);
  const uint32_t list = list_of(tensor);
  Cursor cursor(tensor.proto);
  Field field;
  while (!cursor.empty()) {
    if (!cursor.field(field)) return TensorError::malformed;
    if (field.number != list) continue;
    if (const TensorError wrong = push_field(tensor.dtype, field, out); wrong != TensorError::none)
      return wrong;
  }
  return repeat(tensor.count, size, start, budget, out);
}

template <class T, class Convert>
bool widen(const char* from, size_t count, GrowableBuffer<double>& out, Convert convert) {
  double* to = out.extend(count);
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    to[i] = convert(value);
  }
  return true;
}

template <class T>
bool widen(const char* from, size_t count, GrowableBuffer<double>& out) {
  return widen<T>(from, count, out, [](T value) { return static_cast<double>(value); });
}

}  // namespace

bool widen_numbers(Dtype dtype, const char* from, size_t count, GrowableBuffer<double>& out) {
  switch (dtype) {
    case Dtype::float32:
      return widen<float>(from, count, out);
    case Dtype::float64:
      return widen<double>(from, count, out);
    case Dtype::int32:
    case Dtype::qint32:
      return widen<int32_t>(from, count, out);
    case Dtype::int64:
      return widen<int64_t>(from, count, out);
    case Dtype::uint32:
      return widen<uint32_t>(from, count, out);
    case Dtype::uint64:
      return widen<uint64_t>(from, count, out);
    case Dtype::int16:
    case Dtype::qint16:
      return widen<int16_t>(from, count, out);
    case Dtype::uint16:
    case Dtype::quint16:
      return widen<uint16_t>(from, count, out);
    case Dtype::int8:
    case Dtype::qint8:
      return widen<int8_t>(from, count, out);
    case Dtype::uint8:
    case Dtype::quint8:
      return widen<uint8_t>(from, count, out);
    case Dtype::boolean:
      return widen<uint8_t>(from, count, out, [](uint8_t value) { return value != 0 ? 1.0 : 0.0; });
    case Dtype::float16:
      return widen<uint16_t>(from, count, out, [](uint16_t bits) { return double_of_half(bits); });
    case Dtype::bfloat16:
      return widen<uint16_t>(from, count, out, [](uint16_t bits) { return double_of_bfloat(bits); });
    default:
      return false;
  }
}

TensorError copy_numbers(const TensorView& tensor, RepeatBudget& budget, GrowableBuffer<char>& out) {
  if (!tensor.ok()) return tensor.error;
  const size_t size = element_size(tensor.dtype);
  if (size == 0) return TensorError::dtype;
  if (!tensor.content.empty()) {
    if (!fills(tensor, tensor.content.size())) return TensorError::mismatch;
    out.append(reinterpret_cast<const char*>(tensor.content.data()), tensor.content.size());
    return TensorError::none;
  }
  const size_t start = out.size();
  const TensorError wrong = copy_lists(tensor, budget, out);
  if (wrong != TensorError::none) out.shrink(start);
  return wrong;
}

TensorError check_numbers(const TensorView& tensor, RepeatBudget& budget) {
  if (!tensor.ok()) return tensor.error;
  const size_t size = element_size(tensor.dtype);
  if (size == 0) return TensorError::dtype;
  if (!tensor.content.empty()) {
    return fills(tensor, tensor.content.size()) ? TensorError::none : TensorError::mismatch;
  }
  uint64_t stored = 0;
  GrowableBuffer<char> scratch;
  const uint32_t list = list_of(tensor);
  Cursor cursor(tensor.proto);
  Field field;
  while (!cursor.empty()) {
    if (!cursor.field(field)) return TensorError::malformed;
    if (field.number != list) continue;
    if (field.wire == Wire::bytes &&
        (field.number == schema::Tensor::float_val || field.number == schema::Tensor::double_val)) {
      const uint64_t length = field.bytes.size();
      if (length % size != 0) return TensorError::malformed;
      stored += length;
      continue;
    }
    scratch.clear();
    if (const TensorError wrong = push_field(tensor.dtype, field, scratch); wrong != TensorError::none)
      return wrong;
    stored += scratch.size();
  }
  return room_for(tensor.count, size, stored, budget);
}

TensorError copy_doubles(const TensorView& tensor, RepeatBudget& budget, GrowableBuffer<double>& out) {
  out.clear();
  if (!tensor.ok()) return tensor.error;
  if (!tensor.content.empty()) {
    const size_t size = element_size(tensor.dtype);
    if (size == 0) return TensorError::dtype;
    if (!fills(tensor, tensor.content.size())) return TensorError::mismatch;
    const auto* from = reinterpret_cast<const char*>(tensor.content.data());
    return widen_numbers(tensor.dtype, from, static_cast<size_t>(tensor.count), out) ? TensorError::none
                                                                                     : TensorError::dtype;
  }
  GrowableBuffer<char> bytes;
  if (const TensorError wrong = copy_numbers(tensor, budget, bytes); wrong != TensorError::none) return wrong;
  return widen_numbers(tensor.dtype, bytes.data(), static_cast<size_t>(tensor.count), out)
             ? TensorError::none
             : TensorError::dtype;
}

}  // namespace tbq
