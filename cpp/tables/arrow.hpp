// Columns in Arrow's layout, and their export through the Arrow C data interface without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bytes/utf8.hpp"
#include "io/slab.hpp"

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

// A growing array of plain values whose new room is not cleared.
template <class T>
class Grow {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Grow() = default;
  Grow(Grow&& other) noexcept
      : owner_(std::move(other.owner_)), data_(other.data_), size_(other.size_), capacity_(other.capacity_) {
    other.forget();
  }
  Grow& operator=(Grow&& other) noexcept {
    if (this != &other) {
      owner_ = std::move(other.owner_);
      data_ = other.data_;
      size_ = other.size_;
      capacity_ = other.capacity_;
      other.forget();
    }
    return *this;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  void clear() { size_ = 0; }
  void shrink(size_t size) { size_ = size; }
  std::shared_ptr<void> owner() const { return owner_; }

  // Room for `count` more values at the end, which the caller fills.
  T* extend(size_t count) {
    if (count > capacity_ - size_) reserve(count);
    T* at = data_ + size_;
    size_ += count;
    return at;
  }
  void push(T value) { *extend(1) = value; }
  void append(const T* from, size_t count) {
    if (count > 0) std::memcpy(extend(count), from, count * sizeof(T));
  }
  void fill(T value, size_t count) {
    T* at = extend(count);
    for (size_t i = 0; i < count; ++i) at[i] = value;
  }
  // Makes room for `count` more at least.
  void reserve(size_t count) {
    if (count <= capacity_ - size_) return;
    if (count > SIZE_MAX / sizeof(T) / 4 - size_) throw std::bad_alloc();
    size_t bytes = (capacity_ < 16 ? 32 : capacity_ * 2) * sizeof(T);
    if (bytes < (size_ + count) * sizeof(T)) bytes = (size_ + count) * sizeof(T);
    std::shared_ptr<void> grown;
    if (bytes >= kSlab) {
      bytes = (bytes + kSlab - 1) / kSlab * kSlab;
      grown = make_slab(bytes);
    } else {
      void* memory = std::malloc(bytes);
      if (!memory) throw std::bad_alloc();
      grown = {memory, std::free};
    }
    if (size_ > 0) std::memcpy(grown.get(), data_, size_ * sizeof(T));
    owner_ = std::move(grown);
    data_ = static_cast<T*>(owner_.get());
    capacity_ = bytes / sizeof(T);
  }

 private:
  void forget() {
    data_ = nullptr;
    size_ = capacity_ = 0;
  }
  std::shared_ptr<void> owner_;
  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

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
  template <class T>
  static Buffer of(Grow<T>&& values) {
    const Grow<T> held = std::move(values);
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

// A stream whose batches are made when they are asked for: `next` fills one, or returns false at the end.
void export_lazy(Batch schema, std::function<bool(Batch&)> next, ArrowArrayStream* out);

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
  void append_valid(size_t count) {
    if (bits_.empty()) {
      length_ += static_cast<int64_t>(count);
    } else {
      for (size_t i = 0; i < count; ++i) append(true);
    }
  }
  int64_t nulls() const { return nulls_; }
  // As all builders: what was built moves out, and building can begin anew.
  Buffer finish() {
    Buffer made = bits_.empty() ? Buffer{} : Buffer::of(std::move(bits_));
    *this = {};
    return made;
  }

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
    values_.push(value);
    validity_.append(true);
  }
  void append_null() {
    values_.push(T{});
    validity_.append(false);
  }
  void append_nulls(size_t count) {
    values_.fill(T{}, count);
    for (size_t i = 0; i < count; ++i) validity_.append(false);
  }
  void fill(T value, size_t count) {
    values_.fill(value, count);
    validity_.append_valid(count);
  }
  void append(const T* values, size_t count) {
    values_.append(values, count);
    validity_.append_valid(count);
  }
  size_t size() const { return values_.size(); }
  Column finish(std::string name) {
    Column column;
    column.name = std::move(name);
    column.format = std::string(arrow_format(static_cast<const T*>(nullptr)));
    column.length = static_cast<int64_t>(values_.size());
    column.null_count = validity_.nulls();
    column.buffers = {validity_.finish(), Buffer::of(std::move(values_))};
    return column;
  }

 private:
  Grow<T> values_;
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
    column.format = std::string("b");
    column.length = length_;
    column.null_count = validity_.nulls();
    column.buffers = {validity_.finish(), Buffer::of(std::move(bits_))};
    bits_.clear();
    length_ = 0;
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

// Builds columns of bytes: string ("u"), large_string ("U", both of valid UTF-8) or large_binary ("Z").
template <class Offset>
class VarBuilder {
 public:
  explicit VarBuilder(const char* format) : format_(format) { offsets_.push(0); }
  // False, and nothing done, where the offsets could not hold that much.
  bool append(std::string_view value) {
    if constexpr (sizeof(Offset) == 4) {
      if (value.size() > size_t{INT32_MAX} - data_.size()) return false;
    }
    data_.append(value.data(), value.size());
    close();
    return true;
  }
  // For values that are put together in place: write to data(), then close() the row.
  Grow<char>& data() { return data_; }
  void close() {
    offsets_.push(static_cast<Offset>(data_.size()));
    validity_.append(true);
  }
  void append_null() {
    offsets_.push(static_cast<Offset>(data_.size()));
    validity_.append(false);
  }
  Column finish(std::string name) {
    Column column;
    column.name = std::move(name);
    column.format = std::string(format_);
    column.length = static_cast<int64_t>(offsets_.size()) - 1;
    column.null_count = validity_.nulls();
    if (data_.empty()) data_.push(0);  // the buffer must not be absent
    column.buffers = {validity_.finish(), Buffer::of(std::move(offsets_)), Buffer::of(std::move(data_))};
    offsets_.push(0);
    return column;
  }

 private:
  const char* format_;
  Grow<Offset> offsets_;
  Grow<char> data_;
  Validity validity_;
};
using BytesBuilder = VarBuilder<int64_t>;
class TextBuilder : public VarBuilder<int32_t> {
 public:
  TextBuilder() : VarBuilder("u") {}
};

// Builds a list column over values without nulls: fill values(), then close() the row.
template <class T>
class ListBuilder {
 public:
  ListBuilder() { offsets_.push(0); }
  Grow<T>& values() { return values_; }
  // False, with the row's values taken back, where the offsets could not hold that much.
  bool close() {
    const bool fits = values_.size() <= size_t{INT32_MAX};
    if (!fits) values_.shrink(static_cast<size_t>(offsets_[offsets_.size() - 1]));
    offsets_.push(static_cast<int32_t>(values_.size()));
    validity_.append(fits);
    return fits;
  }
  void append_null() {
    offsets_.push(static_cast<int32_t>(values_.size()));
    validity_.append(false);
  }
  Column finish(std::string name) {
    Column item;
    item.name = std::string("item");
    item.format = std::string(arrow_format(static_cast<const T*>(nullptr)));
    item.length = static_cast<int64_t>(values_.size());
    if (values_.empty()) values_.push(T{});
    item.buffers = {Buffer{}, Buffer::of(std::move(values_))};
    Column column;
    column.name = std::move(name);
    column.format = std::string("+l");
    column.length = static_cast<int64_t>(offsets_.size()) - 1;
    column.null_count = validity_.nulls();
    column.buffers = {validity_.finish(), Buffer::of(std::move(offsets_))};
    column.children.push_back(std::move(item));
    offsets_.push(0);
    return column;
  }
  // A column without nulls over values that lie elsewhere.
  static Column over(std::string name, Buffer offsets, int64_t rows, Buffer values, int64_t count) {
    Column item;
    item.name = std::string("item");
    item.format = std::string(arrow_format(static_cast<const T*>(nullptr)));
    item.length = count;
    item.buffers = {Buffer{}, std::move(values)};
    Column column;
    column.name = std::move(name);
    column.format = std::string("+l");
    column.length = rows;
    column.buffers = {Buffer{}, std::move(offsets)};
    column.children.push_back(std::move(item));
    return column;
  }

 private:
  Grow<int32_t> offsets_;
  Grow<T> values_;
  Validity validity_;
};

// Builds a list<string> column: append texts, then close() the row.
class TextListBuilder {
 public:
  TextListBuilder() { offsets_.push(0); }
  bool append(std::string_view text) {
    if (!texts_.append(text)) return false;
    ++count_;
    return true;
  }
  void close() { offsets_.push(count_); }
  Column finish(std::string name) {
    Column column;
    column.name = std::move(name);
    column.format = std::string("+l");
    column.length = static_cast<int64_t>(offsets_.size()) - 1;
    column.buffers = {Buffer{}, Buffer::of(std::move(offsets_))};
    column.children.push_back(texts_.finish("item"));
    offsets_.push(0);
    count_ = 0;
    return column;
  }

 private:
  Grow<int32_t> offsets_;
  TextBuilder texts_;
  int32_t count_ = 0;
};

// A dictionary<int32, string> column whose codes lie in `codes`.
Column dictionary_column(std::string name, Buffer codes, int64_t length,
                         std::shared_ptr<const Column> values);

// Builds a dictionary<int32, string> column over names that are all known beforehand.
class LabelBuilder {
 public:
  explicit LabelBuilder(std::shared_ptr<const Column> names) : names_(std::move(names)) {}
  void append(int32_t code) { codes_.append(code); }
  void append_null() { codes_.append_null(); }
  void fill(int32_t code, size_t count) { codes_.fill(code, count); }
  Column finish(std::string name) {
    Column column = codes_.finish(std::move(name));
    column.dictionary = names_;
    return column;
  }

 private:
  FixedBuilder<int32_t> codes_;
  std::shared_ptr<const Column> names_;
};

// The dictionary itself: a string column ("u"), or one of large strings ("U") where its offsets could not
// hold more than `limit` bytes. Bytes that are not UTF-8 are replaced (U+FFFD), as Python's "replace" does.
std::shared_ptr<const Column> string_dictionary(const std::vector<std::string>& values,
                                                size_t limit = INT32_MAX);
// The dictionary of tags, each by the name that it is shown by.
std::shared_ptr<const Column> tag_dictionary(const std::vector<std::string>& tags);

}  // namespace tbq
