// Converts values, lists and structs, nested in each other, to JSON.
#include "tables/struct_json.hpp"

#include <cmath>

#include "bytes/number_text.hpp"
#include "event/schema.hpp"
#include "text/text_rows.hpp"

namespace tbq {
namespace {

void json_text(std::string_view text, std::string& out) {
  static const TextStyle style = [] {
    TextStyle json;
    json.quoting = Quoting::json;
    return json;
  }();
  append_quoted(out, text, style);
}

// The shortest form, whole numbers without a point; NaN and infinities become strings, because JSON lacks
// them.
void append_json_number(double number, std::string& out) {
  if (!std::isfinite(number)) {
    out += std::isnan(number) ? "\"NaN\"" : number > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    return;
  }
  char text[kNumberChars];
  std::string_view written(text, static_cast<size_t>(write_float64(text, number, false) - text));
  if (written.ends_with(".0")) written.remove_suffix(2);
  out += written;
}

bool json_struct(Bytes fields, std::string& out, int depth) {
  Cursor cursor(fields);
  Field field;
  bool first = true;
  out += '{';
  while (!cursor.empty()) {
    if (!cursor.field(field)) return false;
    if (!field.is(schema::Struct::fields, Wire::bytes)) continue;
    std::string_view key;
    Bytes value;
    if (!read_entry(field.bytes, key, value)) return false;
    if (!first) out += ", ";
    first = false;
    json_text(key, out);
    out += ": ";
    if (!json_value(value, out, depth)) return false;
  }
  out += '}';
  return true;
}

}  // namespace

bool read_value(Bytes value, Held& out) {
  return each_field(value, [&](const Field& field) {
    if (field.is(schema::StructValue::null_value, Wire::varint)) out.type = kNull;
    if (field.is(schema::StructValue::number_value, Wire::fixed64)) {
      out.type = kNumber;
      out.number = field.as_double();
    }
    if (field.is(schema::StructValue::string_value, Wire::bytes)) out.type = kText;
    if (field.is(schema::StructValue::bool_value, Wire::varint)) {
      out.type = kBool;
      out.flag = field.value != 0;
    }
    if (field.is(schema::StructValue::struct_value, Wire::bytes)) out.type = kStruct;
    if (field.is(schema::StructValue::list_value, Wire::bytes)) out.type = kList;
    if (field.wire == Wire::bytes) out.bytes = field.bytes;
  });
}

bool read_entry(Bytes entry, std::string_view& key, Bytes& value) {
  return each_field(entry, [&](const Field& field) {
    if (field.is(schema::MapEntry::key, Wire::bytes)) key = as_text(field.bytes);
    if (field.is(schema::MapEntry::value, Wire::bytes)) value = field.bytes;
  });
}

bool json_list(Bytes list, std::string& out, int depth) {
  Cursor cursor(list);
  Field field;
  bool first = true;
  out += '[';
  while (!cursor.empty()) {
    if (!cursor.field(field)) return false;
    if (!field.is(schema::ListValue::values, Wire::bytes)) continue;
    if (!first) out += ", ";
    first = false;
    if (!json_value(field.bytes, out, depth)) return false;
  }
  out += ']';
  return true;
}

bool json_value(Bytes value, std::string& out, int depth) {
  Held held;
  if (depth == 0 || !read_value(value, held)) return false;
  switch (held.type) {
    case kNumber:
      append_json_number(held.number, out);
      return true;
    case kText:
      json_text(as_text(held.bytes), out);
      return true;
    case kBool:
      out += held.flag ? "true" : "false";
      return true;
    case kList:
      return json_list(held.bytes, out, depth - 1);
    case kStruct:
      return json_struct(held.bytes, out, depth - 1);
    default:
      out += "null";
      return true;
  }
}

}  // namespace tbq
