// Arrow arrays as the columns that the text writer prints.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tables/arrow_import.hpp"
#include "text/text_rows.hpp"

namespace tbq {

// One array in the form that TextRows takes, with the memory that it points into.
struct ImportedColumn {
  std::shared_ptr<Imported<ArrowArray>> array;
  std::shared_ptr<const Labels> labels;
  TextColumn column;
};

// Makes columns for one TextRows. The columns of a table share a few dictionaries, whose strings are quoted
// once.
class ColumnImporter {
 public:
  // Moves `array`, of the type that `schema` describes, out of its place and returns it as a column; or
  // leaves it there and returns nothing if TextRows cannot print the type. With `raw`, strings are printed
  // unchanged.
  std::optional<ImportedColumn> import(const TextStyle& style, const ArrowSchema& schema, ArrowArray* array,
                                       bool raw, bool narrow);

 private:
  struct Known {
    const void* offsets;
    const void* bytes;
    int64_t first, count;
    std::shared_ptr<const Labels> labels;
    std::shared_ptr<Imported<ArrowArray>> array;  // keeps the addresses above from being used again
  };
  static constexpr size_t kMost = 16;

  std::shared_ptr<const Labels> labels_of(const TextStyle& style, const ArrowSchema& schema,
                                          const std::shared_ptr<Imported<ArrowArray>>& array);

  std::vector<Known> known_;
  size_t oldest_ = 0;
};

}  // namespace tbq
