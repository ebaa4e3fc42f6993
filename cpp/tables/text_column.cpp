// Finds the buffers of each Arrow type that the text writer prints.
#include "tables/text_column.hpp"

#include <utility>

namespace tbq {
namespace {

// The child of a list of numbers without an absent one; null for every other type.
const ArrowArray* plain_numbers(const ArrowSchema& schema, const ArrowArray& array) {
  if (schema.n_children != 1 || array.n_children != 1) return nullptr;
  const std::string_view format = schema.children[0]->format;
  if (format != "g" && format != "l") return nullptr;
  return has_nulls(*array.children[0]) ? nullptr : array.children[0];
}

std::optional<Cell> cell_of(const ArrowSchema& schema, const ArrowArray& array, bool raw) {
  const ColumnFormat column = ColumnFormat::of(schema);
  if (schema.dictionary != nullptr) {
    if (column.format != "i" || !is_string(column.values) || has_nulls(*array.dictionary)) return {};
    return Cell::label;
  }
  if (column.format == "g") return Cell::float64;
  if (column.format == "l") return Cell::int64;
  if (column.format == "b") return Cell::boolean;
  if (is_string(column.format)) return raw ? Cell::raw : Cell::text;
  if (column.format.starts_with("tsu:")) return Cell::timestamp;
  if ((column.format == "+l" || column.format == "+L") && plain_numbers(schema, array) != nullptr) {
    return schema.children[0]->format[0] == 'g' ? Cell::list_float64 : Cell::list_int64;
  }
  return {};
}

}  // namespace

std::optional<ImportedColumn> ColumnImporter::import(const TextStyle& style, const ArrowSchema& schema,
                                                     ArrowArray* array, bool raw, bool narrow) {
  const std::optional<Cell> cell = cell_of(schema, *array, raw);
  if (!cell) return {};
  ImportedColumn imported;
  imported.array = std::make_shared<Imported<ArrowArray>>(array);
  const ArrowArray& from = **imported.array;
  TextColumn& column = imported.column;
  column.cell = *cell;
  column.narrow = narrow;
  column.first = static_cast<size_t>(from.offset);
  column.valid = validity(from);
  switch (*cell) {
    case Cell::text:
    case Cell::raw:
      column.large = schema.format[0] == 'U';
      column.offsets = from.buffers[1];
      column.values = from.buffers[2];
      break;
    case Cell::list_float64:
    case Cell::list_int64: {
      const ArrowArray& numbers = *from.children[0];
      column.large = schema.format[1] == 'L';
      column.offsets = from.buffers[1];
      column.values = static_cast<const int64_t*>(numbers.buffers[1]) + numbers.offset;
      break;
    }
    case Cell::label:
      column.values = from.buffers[1];
      imported.labels = labels_of(style, schema, imported.array);
      column.labels = imported.labels.get();
      break;
    default:
      column.values = from.buffers[1];
  }
  return imported;
}

std::shared_ptr<const Labels> ColumnImporter::labels_of(const TextStyle& style, const ArrowSchema& schema,
                                                        const std::shared_ptr<Imported<ArrowArray>>& array) {
  const ArrowArray& strings = *(*array)->dictionary;
  const void* const offsets = strings.buffers[1];
  const void* const bytes = strings.buffers[2];
  for (const Known& known : known_) {
    if (known.offsets == offsets && known.bytes == bytes && known.first == strings.offset &&
        known.count == strings.length) {
      return known.labels;
    }
  }
  const auto* text = static_cast<const char*>(bytes);
  const auto count = static_cast<size_t>(strings.length);
  const bool large = schema.dictionary->format[0] == 'U';
  auto labels = std::make_shared<const Labels>(
      large ? Labels(style, text, static_cast<const int64_t*>(offsets) + strings.offset, count)
            : Labels(style, text, static_cast<const int32_t*>(offsets) + strings.offset, count));
  Known fresh{offsets, bytes, strings.offset, strings.length, labels, array};
  if (known_.size() < kMost) {
    known_.push_back(std::move(fresh));
  } else {
    known_[oldest_] = std::move(fresh);
    oldest_ = (oldest_ + 1) % kMost;
  }
  return labels;
}

}  // namespace tbq
