// Builders of Arrow columns: append values row by row, then call finish(), which moves the column out and
// leaves the builder empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tables/arrow.hpp"

namespace tbq {

// Validity bits, allocated only when the first null comes.
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
  Buffer finish() {
    Buffer built = bits_.empty() ? Buffer{} : Buffer::of(std::move(bits_));
    *this = {};
    return built;
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
  GrowableBuffer<T> values_;
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
  // Returns false, and appends nothing, if the offsets cannot hold the new size.
  bool append(std::string_view value) {
    if constexpr (sizeof(Offset) == 4) {
      if (value.size() > size_t{INT32_MAX} - data_.size()) return false;
    }
    data_.append(value.data(), value.size());
    close();
    return true;
  }
  // For values assembled in place: write to data(), then close() the row.
  GrowableBuffer<char>& data() { return data_; }
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
    if (data_.empty()) data_.push(0);  // the buffer must not be null
    column.buffers = {validity_.finish(), Buffer::of(std::move(offsets_)), Buffer::of(std::move(data_))};
    offsets_.push(0);
    return column;
  }

 private:
  const char* format_;
  GrowableBuffer<Offset> offsets_;
  GrowableBuffer<char> data_;
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
  GrowableBuffer<T>& values() { return values_; }
  // Returns false, and removes the row's values, if the offsets cannot hold the new size.
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
  // A column without nulls over values in other memory.
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
  GrowableBuffer<int32_t> offsets_;
  GrowableBuffer<T> values_;
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
  GrowableBuffer<int32_t> offsets_;
  TextBuilder texts_;
  int32_t count_ = 0;
};

// Builds a dictionary<int32, string> column over names that are all known in advance.
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

}  // namespace tbq
