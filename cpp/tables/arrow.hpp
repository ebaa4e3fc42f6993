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

// Memory that a column points into, kept alive by `owner`; null if Arrow allows the buffer to be absent.
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

// One column of one batch: Arrow's format string, buffers and children. It has `length` rows from the start
// of the buffers.
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

// Moves the batches into a stream. `schema` provides names, formats, children and dictionaries; nothing else
// of it is used.
void export_stream(Batch schema, std::vector<Batch> batches, ArrowArrayStream* out);
// Moves one batch, which may be empty, into a stream.
void export_batch(Batch batch, ArrowArrayStream* out);

// A stream that makes its batches on demand: `next` fills one, or returns false at the end. If `next` throws,
// the consumer gets an errno and the message, and the stream ends.
void export_lazy(Batch schema, std::function<bool(Batch&)> next, ArrowArrayStream* out);

// A dictionary<int32, string> column with the codes in `codes`.
Column dictionary_column(std::string name, Buffer codes, int64_t length,
                         std::shared_ptr<const Column> values);

// The dictionary: a string column ("u"), or large strings ("U") if there are more than `limit` bytes, too
// many for 32-bit offsets. Bytes that are not UTF-8 become U+FFFD, as with Python's "replace".
std::shared_ptr<const Column> string_dictionary(const std::vector<std::string>& values,
                                                size_t limit = INT32_MAX);
// The dictionary of tags by their display names.
std::shared_ptr<const Column> tag_dictionary(const std::vector<std::string>& tags);

}  // namespace tbq
