// Converts Arrow arrays to comparable cells.
#include "fuzz/tables.hpp"

#include "bytes/utf8.hpp"
#include "fuzz/fuzz.hpp"

namespace {

constexpr char kNull = 'n';
constexpr char kValue = 'v';

bool is_null(const ArrowArray& array, int64_t row) {
  const auto* bits = static_cast<const uint8_t*>(array.buffers[0]);
  return bits && (bits[row / 8] >> (row % 8) & 1) == 0;
}

template <class Offset>
std::pair<int64_t, int64_t> range(const ArrowArray& array, int64_t row) {
  const auto* offsets = static_cast<const Offset*>(array.buffers[1]);
  REQUIRE(offsets[0] >= 0 && offsets[row] <= offsets[row + 1]);
  return {offsets[row], offsets[row + 1]};
}

void append(std::string& out, const void* bytes, size_t size) {
  const auto length = static_cast<uint32_t>(size);
  const size_t at = out.size();
  out.resize(at + 1 + sizeof(length) + size);
  out[at] = kValue;
  std::memcpy(out.data() + at + 1, &length, sizeof(length));
  if (size > 0) std::memcpy(out.data() + at + 1 + sizeof(length), bytes, size);
}

void append_cell(std::string& out, const ArrowSchema& schema, const ArrowArray& array, int64_t row) {
  if (is_null(array, row)) {
    out += kNull;
    return;
  }
  const std::string_view format = schema.format;
  if (schema.dictionary) {
    const int32_t code = static_cast<const int32_t*>(array.buffers[1])[row];
    REQUIRE(code >= 0 && code < array.dictionary->length);
    append_cell(out, *schema.dictionary, *array.dictionary, code);
  } else if (format == "l" || format == "g") {
    append(out, static_cast<const uint8_t*>(array.buffers[1]) + row * 8, 8);
  } else if (format == "i") {
    append(out, static_cast<const uint8_t*>(array.buffers[1]) + row * 4, 4);
  } else if (format == "b") {
    const char bit =
        static_cast<char>(static_cast<const uint8_t*>(array.buffers[1])[row / 8] >> (row % 8) & 1);
    append(out, &bit, 1);
  } else if (format == "u" || format == "U" || format == "Z") {
    const auto [begin, end] = format == "u" ? range<int32_t>(array, row) : range<int64_t>(array, row);
    const char* bytes = static_cast<const char*>(array.buffers[2]) + begin;
    if (format != "Z") REQUIRE(tbq::is_valid_utf8({bytes, static_cast<size_t>(end - begin)}));
    append(out, bytes, static_cast<size_t>(end - begin));
  } else {
    REQUIRE(format == "+l");
    const auto [begin, end] = range<int32_t>(array, row);
    REQUIRE(end <= array.children[0]->length);
    std::string items;
    if (*schema.children[0]->format == 'u') {
      for (int64_t i = begin; i < end; ++i) append_cell(items, *schema.children[0], *array.children[0], i);
      append(out, items.data(), items.size());
    } else {
      append(out, static_cast<const uint8_t*>(array.children[0]->buffers[1]) + begin * 8,
             static_cast<size_t>(end - begin) * 8);
    }
  }
}

}  // namespace

const std::string* Table::column(std::string_view name) const {
  for (const auto& [known, cells] : columns) {
    if (known == name) return &cells;
  }
  return nullptr;
}

Table drain(ArrowArrayStream& stream) {
  Table table;
  ArrowSchema schema{};
  REQUIRE(stream.get_schema(&stream, &schema) == 0);
  for (int64_t i = 0; i < schema.n_children; ++i) table.columns.emplace_back(schema.children[i]->name, "");
  for (;;) {
    ArrowArray array{};
    REQUIRE(stream.get_next(&stream, &array) == 0);
    if (!array.release) break;
    REQUIRE(array.n_children == schema.n_children);
    table.rows += array.length;
    for (int64_t i = 0; i < array.n_children; ++i) {
      const ArrowArray& column = *array.children[i];
      REQUIRE(column.length == array.length && column.offset == 0);
      std::string& out = table.columns[static_cast<size_t>(i)].second;
      out.reserve(out.size() + static_cast<size_t>(array.length) * 16);
      for (int64_t row = 0; row < array.length; ++row) append_cell(out, *schema.children[i], column, row);
    }
    array.release(&array);
    REQUIRE(array.release == nullptr);
  }
  schema.release(&schema);
  stream.release(&stream);
  REQUIRE(stream.release == nullptr);
  return table;
}

Table table_of(const tbq::Result& result, const tbq::TableKind& kind,
               const std::vector<std::string>* columns) {
  ArrowArrayStream stream{};
  tbq::export_table(result, kind, {"run"}, nullptr, columns, std::make_shared<tbq::ValueProblems>(), &stream);
  return drain(stream);
}
