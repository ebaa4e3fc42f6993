// Columns in Arrow's layout, and their export through the Arrow C data interface without a copy.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The Arrow C data and stream interfaces: an ABI, laid down by the Arrow specification.
extern "C" {
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_NULLABLE 2
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
#endif
}

namespace tbq {

// Memory that a column points into, kept alive by `owner`; null where Arrow allows an absent buffer.
struct Buffer {
  std::shared_ptr<const void> owner;
  const void* data = nullptr;

  template <class T>
  static Buffer of(std::vector<T>&& values) {
    auto held = std::make_shared<std::vector<T>>(std::move(values));
    const void* data = held->data();
    return {std::move(held), data};
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

// Validity bits that are only made when the first null comes.
class Validity {
 public:
  void append(bool valid) {
    if (!valid && bits_.empty()) bits_.assign(static_cast<size_t>(length_ / 8 + 1), 0xff);
    if (!bits_.empty()) {
      const auto byte = static_cast<size_t>(length_ / 8);
      if (byte >= bits_.size()) bits_.push_back(0xff);
      if (!valid) {
        bits_[byte] = static_cast<uint8_t>(bits_[byte] & ~(1U << (length_ % 8)));
        ++nulls_;
      }
    }
    ++length_;
  }
  int64_t nulls() const { return nulls_; }
  Buffer finish() { return bits_.empty() ? Buffer{} : Buffer::of(std::move(bits_)); }

 private:
  std::vector<uint8_t> bits_;
  int64_t length_ = 0;
  int64_t nulls_ = 0;
};

constexpr const char* arrow_format(const int64_t*) { return "l"; }
constexpr const char* arrow_format(const int32_t*) { return "i"; }
constexpr const char* arrow_format(const double*) { return "g"; }

// Builds a column of fixed-width values.
template <class T>
class FixedBuilder {
 public:
  void append(T value) {
    values_.push_back(value);
    validity_.append(true);
  }
  void append_null() {
    values_.push_back(T{});
    validity_.append(false);
  }
  size_t size() const { return values_.size(); }
  Column finish(std::string name) {
    Column column;
    column.name = std::move(name);
    column.format = arrow_format(static_cast<const T*>(nullptr));
    column.length = static_cast<int64_t>(values_.size());
    column.null_count = validity_.nulls();
    column.buffers = {validity_.finish(), Buffer::of(std::move(values_))};
    return column;
  }

 private:
  std::vector<T> values_;
  Validity validity_;
};

// Builds a column of bools.
class BoolBuilder {
 public:
  void append(bool value) {
    push(value);
    validity_.append(true);
  }
  void append_null() {
    push(false);
    validity_.append(false);
  }
  Column finish(std::string name) {
    Column column;
    column.name = std::move(name);
    column.format = "b";
    column.length = length_;
    column.null_count = validity_.nulls();
    column.buffers = {validity_.finish(), Buffer::of(std::move(bits_))};
    return column;
  }

 private:
  void push(bool value) {
    if (length_ % 8 == 0) bits_.push_back(0);
    if (value) bits_.back() = static_cast<uint8_t>(bits_.back() | 1U << (length_ % 8));
    ++length_;
  }
  std::vector<uint8_t> bits_;
  Validity validity_;
  int64_t length_ = 0;
};

// Builds large_string ("U"; the caller gives valid UTF-8) or large_binary ("Z") columns.
class BytesBuilder {
 public:
  explicit BytesBuilder(const char* format) : format_(format) {}
  void append(std::string_view value) {
    data_.insert(data_.end(), value.begin(), value.end());
    offsets_.push_back(static_cast<int64_t>(data_.size()));
    validity_.append(true);
  }
  void append_null() {
    offsets_.push_back(static_cast<int64_t>(data_.size()));
    validity_.append(false);
  }
  void reserve(size_t bytes) { data_.reserve(bytes); }
  Column finish(std::string name) {
    Column column;
    column.name = std::move(name);
    column.format = format_;
    column.length = static_cast<int64_t>(offsets_.size()) - 1;
    column.null_count = validity_.nulls();
    column.buffers = {validity_.finish(), Buffer::of(std::move(offsets_)), Buffer::of(std::move(data_))};
    return column;
  }

 private:
  const char* format_;
  std::vector<int64_t> offsets_{0};
  std::vector<char> data_;
  Validity validity_;
};

// Builds a large_list column over fixed-width values: append values, then close() the row.
template <class T>
class ListBuilder {
 public:
  void push(T value) { values_.append(value); }
  void close() {
    offsets_.push_back(static_cast<int64_t>(values_.size()));
    validity_.append(true);
  }
  void append_null() {
    offsets_.push_back(static_cast<int64_t>(values_.size()));
    validity_.append(false);
  }
  Column finish(std::string name) {
    Column column;
    column.name = std::move(name);
    column.format = "+L";
    column.length = static_cast<int64_t>(offsets_.size()) - 1;
    column.null_count = validity_.nulls();
    column.buffers = {validity_.finish(), Buffer::of(std::move(offsets_))};
    column.children.push_back(values_.finish("item"));
    return column;
  }

 private:
  std::vector<int64_t> offsets_{0};
  FixedBuilder<T> values_;
  Validity validity_;
};

// A dictionary<int32, string> column whose codes lie in `codes`.
Column dictionary_column(std::string name, Buffer codes, int64_t length,
                         std::shared_ptr<const Column> values);

// The dictionary itself: a string column ("u"). Bytes that are not UTF-8 are replaced (U+FFFD), as Python's
// "replace" does.
std::shared_ptr<const Column> string_dictionary(const std::vector<std::string>& values);

// `text` with each invalid byte sequence replaced by U+FFFD.
std::string valid_utf8(std::string_view text);
bool is_valid_utf8(std::string_view text);

}  // namespace tbq
