// Columns in Arrow's layout, and their export through the Arrow C data interface without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/growable_buffer.hpp"
#include "tables/arrow_abi.hpp"

namespace tbq {

// Memory that a column points into, kept alive by `owner`; null if Arrow allows an absent buffer.
struct Buffer {
  std::shared_ptr<const void> owner;
  const void* data = nullptr;

  template <class T>
  static Buffer of(std::vector<T>&& values) {
    auto held = std::make_shared<std::vector<T>>(std::move(values));
    const void* data = held->data();
    return {std::move(held), data};
  }
  template <class T>
  static Buffer of(GrowableBuffer<T>&& values) {
    const GrowableBuffer<T> held = std::move(values);
    return {held.owner(), held.data()};
  }
};

// One column of one batch: Arrow's format string, buffers and children. `length` rows from the start of the
// buffers.
struct Column {
  std::string name;
  std::string
      format;  // "l" int64, "g" float64, "i" int32, "U" large_string, "Z" large_binary, "+L" large_list, …
  int64_t length = 0;
  int64_t null_count = 0;
  std::vector<Buffer> buffers;
  std::vector<Column> children;
  std::shared_ptr<const Column> dictionary;
};

struct Batch {
  int64_t length = 0;
  std::vector<Column> columns;
};

// Moves the batches out as a stream; `columns` gives the schema (only names, formats, children, dictionary
// are used).
void export_stream(Batch schema, std::vector<Batch> batches, ArrowArrayStream* out);
// The same of one batch, which may be empty.
void export_batch(Batch batch, ArrowArrayStream* out);

// A stream whose batches are made when they are asked for: `next` fills one, or returns false at the end. If
// it throws, the consumer gets an errno and the message, and the stream has ended.
void export_lazy(Batch schema, std::function<bool(Batch&)> next, ArrowArrayStream* out);

// A dictionary<int32, string> column whose codes lie in `codes`.
Column dictionary_column(std::string name, Buffer codes, int64_t length,
                         std::shared_ptr<const Column> values);

// The dictionary itself: a string column ("u"), or one of large strings ("U") if there are more than
// `limit` bytes, which its offsets could not hold. Bytes that are not UTF-8 are replaced (U+FFFD), as
// Python's "replace" does.
std::shared_ptr<const Column> string_dictionary(const std::vector<std::string>& values,
                                                size_t limit = INT32_MAX);
// The dictionary of tags, each by the name that it is shown by.
std::shared_ptr<const Column> tag_dictionary(const std::vector<std::string>& tags);

}  // namespace tbq
