// Every dtype of TensorProto, from tensor_content or from typed lists, packed or not, short lists repeated.
#include "event/tensor.hpp"

#include <bit>
#include <cmath>

#include "bytes/half.hpp"

namespace tbq {

const char* tensor_error_text(TensorError error) {
  switch (error) {
    case TensorError::none:
      return "";
    case TensorError::malformed:
      return "the tensor's protobuf cannot be read";
    case TensorError::dtype:
      return "tensors of this dtype cannot be decoded";
    case TensorError::shape:
      return "the tensor's shape is unknown, negative or has more than 64 dimensions";
    case TensorError::overflow:
      return "the tensor's shape claims more elements than can be counted";
    case TensorError::mismatch:
      return "the tensor's data do not fit its shape";
    case TensorError::too_large:
      return "the tensor claims to repeat a few values into more than 16 MiB";
  }
  return "";
}

namespace {

// The fields of TensorProto that hold elements.
enum List : uint32_t {
  kFloat = 5,
  kDouble = 6,
  kInt = 7,
  kString = 8,
  kComplex64 = 9,
  kInt64 = 10,
  kBool = 11,
  kComplex128 = 12,
  kHalf = 13,
  kUint32 = 16,
  kUint64 = 17,
  kFloat8 = 18,
};

bool read_dim(Bytes bytes, int64_t& size) {
  Cursor cursor(bytes);
  Field field;
  size = 0;
  while (!cursor.empty()) {
    if (!cursor.field(field)) return false;
    if (field.is(1, Wire::varint)) size = field.as_int64();
  }
  return true;
}

TensorError read_shape(Bytes bytes, TensorView& out) {
  Cursor cursor(bytes);
  Field field;
  bool unknown = false;
  while (!cursor.empty()) {
    if (!cursor.field(field)) return TensorError::malformed;
    if (field.is(3, Wire::varint)) unknown = field.value != 0;
    if (!field.is(2, Wire::bytes)) continue;
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

// What torch puts into half_val are float32 bits, which are never below 2^16 but for zero.
uint16_t half_of_float(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x7f800000)
    return static_cast<uint16_t>(sign | (magnitude > 0x7f800000 ? 0x7e00 : 0x7c00));
  const double rounded = std::fabs(static_cast<double>(value));
  if (rounded >= 65520.0) return static_cast<uint16_t>(sign | 0x7c00);
  if (rounded < 0x1p-14)
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(rounded * 0x1p24)));
  // Round to nearest even on the 13 bits that go; a carry runs into the exponent as it should.
  const uint32_t moved = magnitude - (112U << 23);
  const uint32_t half = (moved + 0xfff + (moved >> 13 & 1)) >> 13;
  return static_cast<uint16_t>(sign | half);
}

uint16_t bfloat_of_float(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Appends the element that a varint holds.
void push_varint(Dtype dtype, uint32_t list, uint64_t raw, Grow<char>& out) {
  char bytes[8];
  const size_t size = element_size(dtype);
  if (list == kHalf) {
    const auto bits = static_cast<uint32_t>(raw);
    auto half = static_cast<uint16_t>(bits);
    if (bits > 0xffff) {
      const auto value = std::bit_cast<float>(bits);
      half = dtype == Dtype::bfloat16 ? bfloat_of_float(value) : half_of_float(value);
    }
    std::memcpy(bytes, &half, 2);
  } else if (list == kBool) {
    bytes[0] = raw != 0;
  } else {
    std::memcpy(bytes, &raw, 8);  // two's complement: the low bytes are the element
  }
  out.append(bytes, size);
}

bool is_integer(Dtype dtype) {
  switch (dtype) {
    case Dtype::int32:
    case Dtype::uint8:
    case Dtype::int16:
    case Dtype::int8:
    case Dtype::int64:
    case Dtype::qint8:
    case Dtype::quint8:
    case Dtype::qint32:
    case Dtype::qint16:
    case Dtype::quint16:
    case Dtype::uint16:
    case Dtype::uint32:
    case Dtype::uint64:
    case Dtype::int4:
    case Dtype::uint4:
    case Dtype::int2:
    case Dtype::uint2:
      return true;
    default:
      return false;
  }
}

// The list that holds elements of this dtype; 0 for those without one.
uint32_t own_list(Dtype dtype) {
  switch (dtype) {
    case Dtype::float32:
      return kFloat;
    case Dtype::float64:
      return kDouble;
    case Dtype::complex64:
      return kComplex64;
    case Dtype::complex128:
      return kComplex128;
    case Dtype::boolean:
      return kBool;
    case Dtype::float16:
    case Dtype::bfloat16:
      return kHalf;
    case Dtype::int64:
      return kInt64;
    case Dtype::uint32:
      return kUint32;
    case Dtype::uint64:
      return kUint64;
    case Dtype::float8_e5m2:
    case Dtype::float8_e4m3fn:
    case Dtype::float8_e4m3fnuz:
    case Dtype::float8_e4m3b11fnuz:
    case Dtype::float8_e5m2fnuz:
    case Dtype::float4_e2m1fn:
      return kFloat8;
    default:
      return is_integer(dtype) ? uint32_t{kInt} : 0;
  }
}

// The list that the elements of this tensor lie in: their dtype's own, or if that is empty another one that
// can hold them, since torch puts uint8 into uint32_val.
uint32_t list_of(const TensorView& tensor) {
  const uint32_t own = own_list(tensor.dtype);
  const bool integer = is_integer(tensor.dtype);
  uint32_t other = own;
  Cursor cursor(tensor.proto);
  Field field;
  while (!cursor.empty() && cursor.field(field)) {
    if (field.wire == Wire::bytes && field.bytes.empty()) continue;
    if (field.number == own) return own;
    const bool any_integer =
        field.number == kInt || field.number == kInt64 || field.number == kUint32 || field.number == kUint64;
    const bool can_hold =
        integer ? any_integer : tensor.dtype == Dtype::float4_e2m1fn && field.number == kInt;
    if (can_hold && other == own) other = field.number;
  }
  return other;
}

// Appends what one field of the list holds.
TensorError push_field(Dtype dtype, const Field& field, Grow<char>& out) {
  switch (field.number) {
    case kFloat:
    case kComplex64:
      if (field.wire == Wire::fixed32) {
        const auto bits = static_cast<uint32_t>(field.value);
        out.append(reinterpret_cast<const char*>(&bits), 4);
        return TensorError::none;
      }
      if (field.wire != Wire::bytes || field.bytes.size() % 4 != 0) return TensorError::malformed;
      out.append(reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size());
      return TensorError::none;
    case kDouble:
    case kComplex128:
      if (field.wire == Wire::fixed64) {
        out.append(reinterpret_cast<const char*>(&field.value), 8);
        return TensorError::none;
      }
      if (field.wire != Wire::bytes || field.bytes.size() % 8 != 0) return TensorError::malformed;
      out.append(reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size());
      return TensorError::none;
    case kFloat8:
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

// Whether tensor_content of this length is all elements, and no more.
bool fills(const TensorView& tensor, uint64_t length) {
  const size_t size = element_size(tensor.dtype);
  return length % size == 0 && length / size == tensor.count;
}

// Whether `stored` bytes of elements may repeat up to the claimed count; the budget is spent.
TensorError room_for(uint64_t count, size_t size, uint64_t stored, RepeatBudget& budget) {
  if (stored % size != 0 || stored / size > count) return TensorError::mismatch;
  const uint64_t missing = count - stored / size;
  if (missing > kLargestRepeat / size || missing * size > budget.left) return TensorError::too_large;
  budget.left -= missing * size;
  return TensorError::none;
}

// Fills up to the claimed count: with the last element, or with zeros where there is none.
TensorError repeat(uint64_t count, size_t size, size_t start, RepeatBudget& budget, Grow<char>& out) {
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

TensorError copy_lists(const TensorView& tensor, RepeatBudget& budget, Grow<char>& out) {
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

template <class T>
void widen(const char* from, size_t count, Grow<double>& out) {
  double* to = out.extend(count);
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    to[i] = static_cast<double>(value);
  }
}

}  // namespace

bool widen_numbers(Dtype dtype, const char* from, size_t count, Grow<double>& out) {
  switch (dtype) {
    case Dtype::float32:
      widen<float>(from, count, out);
      return true;
    case Dtype::float64:
      widen<double>(from, count, out);
      return true;
    case Dtype::int32:
    case Dtype::qint32:
      widen<int32_t>(from, count, out);
      return true;
    case Dtype::int64:
      widen<int64_t>(from, count, out);
      return true;
    case Dtype::uint32:
      widen<uint32_t>(from, count, out);
      return true;
    case Dtype::uint64:
      widen<uint64_t>(from, count, out);
      return true;
    case Dtype::int16:
    case Dtype::qint16:
      widen<int16_t>(from, count, out);
      return true;
    case Dtype::uint16:
    case Dtype::quint16:
      widen<uint16_t>(from, count, out);
      return true;
    case Dtype::int8:
    case Dtype::qint8:
      widen<int8_t>(from, count, out);
      return true;
    case Dtype::uint8:
    case Dtype::quint8:
      widen<uint8_t>(from, count, out);
      return true;
    case Dtype::boolean: {
      double* to = out.extend(count);
      for (size_t i = 0; i < count; ++i) to[i] = from[i] != 0 ? 1.0 : 0.0;
      return true;
    }
    case Dtype::float16:
    case Dtype::bfloat16: {
      double* to = out.extend(count);
      for (size_t i = 0; i < count; ++i) {
        uint16_t bits;
        std::memcpy(&bits, from + 2 * i, 2);
        to[i] = dtype == Dtype::float16 ? double_of_half(bits) : double_of_bfloat(bits);
      }
      return true;
    }
    default:
      return false;
  }
}

TensorView read_tensor(Bytes proto) {
  TensorView out;
  out.proto = proto;
  Bytes shape;
  uint64_t dtype = 0;
  Cursor cursor(proto);
  Field field;
  while (!cursor.empty()) {
    if (!cursor.field(field)) {
      out.error = TensorError::malformed;
      return out;
    }
    if (field.is(1, Wire::varint)) dtype = field.value;
    if (field.is(2, Wire::bytes)) shape = field.bytes;
    if (field.is(4, Wire::bytes)) out.content = field.bytes;
  }
  if (dtype > 100) dtype -= 100;  // the _REF dtypes
  if (dtype < kDtypeCount) out.dtype = static_cast<Dtype>(dtype);
  out.error = read_shape(shape, out);
  if (out.ok() && element_size(out.dtype) == 0 && !out.is_string()) out.error = TensorError::dtype;
  return out;
}

size_t element_size(Dtype dtype) {
  switch (dtype) {
    case Dtype::invalid:
    case Dtype::string:
    case Dtype::resource:
    case Dtype::variant:
      return 0;
    case Dtype::complex128:
      return 16;
    case Dtype::float64:
    case Dtype::int64:
    case Dtype::uint64:
    case Dtype::complex64:
      return 8;
    case Dtype::float32:
    case Dtype::int32:
    case Dtype::qint32:
    case Dtype::uint32:
      return 4;
    case Dtype::int16:
    case Dtype::uint16:
    case Dtype::qint16:
    case Dtype::quint16:
    case Dtype::float16:
    case Dtype::bfloat16:
      return 2;
    default:
      return 1;
  }
}

TensorError copy_numbers(const TensorView& tensor, RepeatBudget& budget, Grow<char>& out) {
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
  Grow<char> scratch;
  const uint32_t list = list_of(tensor);
  Cursor cursor(tensor.proto);
  Field field;
  while (!cursor.empty()) {
    if (!cursor.field(field)) return TensorError::malformed;
    if (field.number != list) continue;
    if (field.wire == Wire::bytes && (field.number == kFloat || field.number == kDouble)) {
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

TensorError copy_doubles(const TensorView& tensor, RepeatBudget& budget, Grow<double>& out) {
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
  Grow<char> bytes;
  if (const TensorError wrong = copy_numbers(tensor, budget, bytes); wrong != TensorError::none) return wrong;
  return widen_numbers(tensor.dtype, bytes.data(), static_cast<size_t>(tensor.count), out)
             ? TensorError::none
             : TensorError::dtype;
}

TensorError copy_strings(const TensorView& tensor, RepeatBudget& budget, std::vector<Bytes>& out) {
  out.clear();
  if (!tensor.ok()) return tensor.error;
  if (!tensor.is_string()) return TensorError::dtype;
  if (!tensor.content.empty()) {  // TensorFlow's way: all lengths, then all bytes
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
      if (!cursor.take(length, text)) {
        out.clear();
        return TensorError::mismatch;
      }
      out.push_back(text);
    }
    if (!cursor.empty()) out.clear();
    return cursor.empty() ? TensorError::none : TensorError::mismatch;
  }
  Cursor cursor(tensor.proto);
  Field field;
  while (!cursor.empty()) {
    if (!cursor.field(field)) {
      out.clear();
      return TensorError::malformed;
    }
    if (field.is(kString, Wire::bytes)) out.push_back(field.bytes);
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
