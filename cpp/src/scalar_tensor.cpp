// The one number of a TensorProto that TF2 logs as a scalar, in any numeric dtype.
#include <bit>

#include "tbq/event.hpp"
#include "tbq/half.hpp"
#include "tbq/tensor.hpp"

namespace tbq {

const char* dtype_name(uint64_t dtype) {
  if (dtype > 100 && dtype < 200) dtype -= 100;  // the _REF dtypes
  static constexpr const char* names[] = {
      "",
      "float32",
      "float64",
      "int32",
      "uint8",
      "int16",
      "int8",
      "string",
      "complex64",
      "int64",
      "bool",
      "qint8",
      "quint8",
      "qint32",
      "bfloat16",
      "qint16",
      "quint16",
      "uint16",
      "complex128",
      "float16",
      "resource",
      "variant",
      "uint32",
      "uint64",
      "float8_e5m2",
      "float8_e4m3fn",
      "float8_e4m3fnuz",
      "float8_e4m3b11fnuz",
      "float8_e5m2fnuz",
      "int4",
      "uint4",
      "int2",
      "uint2",
      "float4_e2m1fn",
  };
  return dtype < std::size(names) ? names[dtype] : "";
}

namespace {

void set_int(ScalarTensor& out, int64_t value) {
  out.valid = true;
  out.value = static_cast<double>(value);
  out.rounded = out.value >= 0x1p63 || static_cast<int64_t>(out.value) != value;
}
void set_uint(ScalarTensor& out, uint64_t value) {
  out.valid = true;
  out.value = static_cast<double>(value);
  out.rounded = out.value >= 0x1p64 || static_cast<uint64_t>(out.value) != value;
}
void set_double(ScalarTensor& out, double value) {
  out.valid = true;
  out.value = value;
}

// From tensor_content.
void from_content(Bytes content, ScalarTensor& out) {
  const uint8_t* data = content.data();
  const auto sized = [&](size_t size) { return content.size() == size; };
  switch (static_cast<Dtype>(out.dtype)) {
    case Dtype::float32:
      if (sized(4)) {
        set_double(out, load_le<float>(data));
        out.slot = data;
      }
      break;
    case Dtype::float64:
      if (sized(8)) {
        set_double(out, load_le<double>(data));
        out.slot = data;
      }
      break;
    case Dtype::int32:
    case Dtype::qint32:
      if (sized(4)) set_int(out, load_le<int32_t>(data));
      break;
    case Dtype::uint32:
      if (sized(4)) set_int(out, load_le<uint32_t>(data));
      break;
    case Dtype::int64:
      if (sized(8)) set_int(out, load_le<int64_t>(data));
      break;
    case Dtype::uint64:
      if (sized(8)) set_uint(out, load_le<uint64_t>(data));
      break;
    case Dtype::int16:
    case Dtype::qint16:
      if (sized(2)) set_int(out, load_le<int16_t>(data));
      break;
    case Dtype::uint16:
    case Dtype::quint16:
      if (sized(2)) set_int(out, load_le<uint16_t>(data));
      break;
    case Dtype::int8:
    case Dtype::qint8:
      if (sized(1)) set_int(out, static_cast<int8_t>(data[0]));
      break;
    case Dtype::uint8:
    case Dtype::quint8:
      if (sized(1)) set_int(out, data[0]);
      break;
    case Dtype::boolean:
      if (sized(1)) set_int(out, data[0] != 0);
      break;
    case Dtype::float16:
      if (sized(2)) set_double(out, double_of_half(load_le<uint16_t>(data)));
      break;
    case Dtype::bfloat16:
      if (sized(2)) set_double(out, double_of_bfloat(load_le<uint16_t>(data)));
      break;
    default:  // is_number() has left none of these
      break;
  }
}

// From a typed list: the last element repeats, so the last one counts. torch writes a half's float32 bits
// into half_val.
bool from_list(const Field& field, ScalarTensor& out) {
  const auto dtype = static_cast<Dtype>(out.dtype);
  Cursor cursor(field.bytes);
  const bool packed = field.wire == Wire::bytes;
  switch (field.number) {
    case 5:
      if (dtype != Dtype::float32) return true;
      if (packed) {
        if (field.bytes.size() < 4) return field.bytes.empty();
        out.slot = field.bytes.data() + field.bytes.size() - 4;
        set_double(out, load_le<float>(out.slot));
        if (field.bytes.size() != 4) out.slot = nullptr;
      } else if (field.wire == Wire::fixed32) {
        set_double(out, field.as_float());
        out.slot = nullptr;
      }
      return true;
    case 6:
      if (dtype != Dtype::float64) return true;
      if (packed) {
        if (field.bytes.size() < 8) return field.bytes.empty();
        out.slot = field.bytes.data() + field.bytes.size() - 8;
        set_double(out, load_le<double>(out.slot));
        if (field.bytes.size() != 8) out.slot = nullptr;
      } else if (field.wire == Wire::fixed64) {
        set_double(out, field.as_double());
        out.slot = nullptr;
      }
      return true;
    case 7:
    case 10:
    case 11:
    case 13:
    case 16:
    case 17: {
      uint64_t last = field.value;
      if (packed) {
        if (field.bytes.empty()) return true;
        while (!cursor.empty()) {
          if (!cursor.varint(last)) return false;
        }
      } else if (field.wire != Wire::varint) {
        return true;
      }
      if (field.number == 13) {
        const auto bits = static_cast<uint32_t>(last);
        if (bits > 0xffff) {
          set_double(out, std::bit_cast<float>(bits));
        } else if (dtype == Dtype::bfloat16) {
          set_double(out, double_of_bfloat(static_cast<uint16_t>(bits)));
        } else if (dtype == Dtype::float16) {
          set_double(out, double_of_half(static_cast<uint16_t>(bits)));
        }
      } else if (field.number == 17) {
        set_uint(out, last);
      } else if (field.number == 11) {
        set_int(out, last != 0);
      } else {
        set_int(out, static_cast<int64_t>(last));
      }
      return true;
    }
    default:
      return true;
  }
}

bool is_number(uint64_t dtype) {
  if (dtype >= kDtypeCount) return false;
  switch (static_cast<Dtype>(dtype)) {
    case Dtype::float32:
    case Dtype::float64:
    case Dtype::int32:
    case Dtype::uint8:
    case Dtype::int16:
    case Dtype::int8:
    case Dtype::int64:
    case Dtype::boolean:
    case Dtype::qint8:
    case Dtype::quint8:
    case Dtype::qint32:
    case Dtype::bfloat16:
    case Dtype::qint16:
    case Dtype::quint16:
    case Dtype::uint16:
    case Dtype::float16:
    case Dtype::uint32:
    case Dtype::uint64:
      return true;
    default:
      return false;
  }
}

// True where the TensorShapeProto describes one element.
bool is_single(Bytes shape) {
  Cursor cursor(shape);
  Field field;
  while (!cursor.empty()) {
    if (!cursor.field(field)) return false;
    if (field.is(3, Wire::varint) && field.value != 0) return false;  // unknown rank
    if (!field.is(2, Wire::bytes)) continue;
    Cursor dim(field.bytes);
    Field inner;
    uint64_t size = 0;
    while (!dim.empty()) {
      if (!dim.field(inner)) return false;
      if (inner.is(1, Wire::varint)) size = inner.value;
    }
    if (size != 1) return false;
  }
  return true;
}

}  // namespace

ScalarTensor scalar_of_tensor(Bytes tensor) {
  ScalarTensor out;
  Bytes shape;
  Bytes content;
  Cursor first(tensor);
  Field field;
  while (!first.empty()) {
    if (!first.field(field)) return out;
    if (field.is(1, Wire::varint))
      out.dtype = field.value > 100 && field.value < 200 ? field.value - 100 : field.value;
    if (field.is(2, Wire::bytes)) shape = field.bytes;
    if (field.is(4, Wire::bytes)) content = field.bytes;
  }
  if (!is_number(out.dtype) || !is_single(shape)) return out;
  if (!content.empty()) {
    from_content(content, out);
    return out;
  }
  bool any = false;
  Cursor second(tensor);
  while (!second.empty()) {
    second.field(field);
    if (field.number >= 5) {
      if (!from_list(field, out)) return {};
      any = any || out.valid;
    }
  }
  if (!any) set_int(out, 0);  // an empty list is zeros
  return out;
}

}  // namespace tbq
