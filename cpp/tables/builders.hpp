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
  void append_nulls(size_t count) {
    for (size_t i = 0; i < count; ++i) append(false);
  }
  int64_t length() const { return length_; }
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

// A column that is built row by row.
class ColumnBuilder {
 public:
  ColumnBuilder() = default;
  virtual ~ColumnBuilder() = default;
  ColumnBuilder(const ColumnBuilder&) = delete;
  ColumnBuilder& operator=(const ColumnBuilder&) = delete;

  size_t rows() const { return static_cast<size_t>(validity_.length()); }
  virtual void append_nulls(size_t count) = 0;
  void append_null() { append_nulls(1); }
  virtual Column finish(std::string name) = 0;

 protected:
  // The column of the rows so far: their validity, then these buffers.
  template <class... Buffers>
  Column finished(std::string name, std::string format, Buffers... buffers) {
    Column column;
    column.name = std::move(name);
    column.format = std::move(format);
    column.length = validity_.length();
    column.null_count = validity_.nulls();
    column.buffers = {validity_.finish(), std::move(buffers)...};
    return column;
  }

  Validity validity_;
};

// Builds a column of fixed-width values.
template <class T>
class FixedBuilder : public ColumnBuilder {
 public:
  void append(T value) {
    values_.push(value);
    validity_.append(true);
  }
  void append_nulls(size_t count) override {
    values_.fill(T{}, count);
    validity_.append_nulls(count);
  }
  void fill(T value, size_t count) {
    values_.fill(value, count);
    validity_.append_valid(count);
  }
  void append(const T* values, size_t count) {
    values_.append(values, count);
    validity_.append_valid(count);
  }
  Column finish(std::string name) override {
    return finished(std::move(name), arrow_format(static_cast<const T*>(nullptr)),
                    Buffer::of(std::move(values_)));
  }

 private:
  GrowableBuffer<T> values_;
};

// Builds a column of bools.
class BoolBuilder : public ColumnBuilder {
 public:
  void append(bool value) {
    push(value);
    validity_.append(true);
  }
  void append_nulls(size_t count) override {
    for (size_t i = 0; i < count; ++i) {
      push(false);
      validity_.append(false);
    }
  }
  Column finish(std::string name) override {
    return finished(std::move(name), "b", Buffer::of(std::exchange(bits_, {})));
  }

 private:
  void push(bool value) {
    const size_t bit = rows() % 8;
    if (bit == 0) bits_.push_back(0);
    if (value) bits_.back() = static_cast<uint8_t>(bits_.back() | 1U << bit);
  }
  std::vector<uint8_t> bits_;
};

// Builds columns of bytes: string ("u"), large_string ("U", both of valid UTF-8) or large_binary ("Z").
template <class Offset>
class VarBuilder : public ColumnBuilder {
 public:
  explicit VarBuilder(const char* format) : format_(format) { offsets_.push(0); }
  // Appends null if the offsets cannot hold the new size.
  void append(std::string_view value) {
    if constexpr (sizeof(Offset) == 4) {
      if (value.size() > size_t{INT32_MAX} - data_.size()) return append_null();
    }
    data_.append(value.data(), value.size());
    close();
  }
  void append_or_null(std::string_view value) {
    if (value.empty()) return append_null();
    append(value);
  }
  // For values assembled in place: write to data(), then close() the row.
  GrowableBuffer<char>& data() { return data_; }
  void close() {
    offsets_.push(static_cast<Offset>(data_.size()));
    validity_.append(true);
  }
  void append_nulls(size_t count) override {
    offsets_.fill(static_cast<Offset>(data_.size()), count);
    validity_.append_nulls(count);
  }
  Column finish(std::string name) override {
    if (data_.empty()) data_.push(0);  // the buffer must not be null
    Column column =
        finished(std::move(name), format_, Buffer::of(std::move(offsets_)), Buffer::of(std::move(data_)));
    offsets_.push(0);
    return column;
  }

 private:
  const char* format_;
  GrowableBuffer<Offset> offsets_;
  GrowableBuffer<char> data_;
};
using BytesBuilder = VarBuilder<int64_t>;
class TextBuilder : public VarBuilder<int32_t> {
 public:
  TextBuilder() : VarBuilder("u") {}
};

// Builds a list column over values without nulls: fill values(), then close() the row.
template <class T>
class ListBuilder : public ColumnBuilder {
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
  void append_nulls(size_t count) override {
    offsets_.fill(static_cast<int32_t>(values_.size()), count);
    validity_.append_nulls(count);
  }
  Column finish(std::string name) override {
    const auto count = static_cast<int64_t>(values_.size());
    if (values_.empty()) values_.push(T{});
    Column column = finished(std::move(name), "+l", Buffer::of(std::move(offsets_)));
    column.children.push_back(item(Buffer::of(std::move(values_)), count));
    offsets_.push(0);
    return column;
  }
  // A column without nulls over values in other memory.
  static Column over(std::string name, Buffer offsets, int64_t rows, Buffer values, int64_t count) {
    Column column;
    column.name = std::move(name);
    column.format = std::string("+l");
    column.length = rows;
    column.buffers = {Buffer{}, std::move(offsets)};
    column.children.push_back(item(std::move(values), count));
    return column;
  }

 private:
  static Column item(Buffer values, int64_t count) {
    Column column;
    column.name = std::string("item");
    column.format = std::string(arrow_format(static_cast<const T*>(nullptr)));
    column.length = count;
    column.buffers = {Buffer{}, std::move(values)};
    return column;
  }
  GrowableBuffer<int32_t> offsets_;
  GrowableBuffer<T> values_;
};

// Builds a list<string> column: append texts, then close() the row.
class TextListBuilder : public ColumnBuilder {
 public:
  TextListBuilder() { offsets_.push(0); }
  void append(std::string_view text) { texts_.append(text); }
  void close() {
    offsets_.push(static_cast<int32_t>(texts_.rows()));
    validity_.append(true);
  }
  void append_nulls(size_t count) override {
    offsets_.fill(static_cast<int32_t>(texts_.rows()), count);
    validity_.append_nulls(count);
  }
  Column finish(std::string name) override {
    Column column = finished(std::move(name), "+l", Buffer::of(std::move(offsets_)));
    column.children.push_back(texts_.finish("item"));
    offsets_.push(0);
    return column;
  }

 private:
  GrowableBuffer<int32_t> offsets_;
  TextBuilder texts_;
};

// Builds a dictionary<int32, string> column over names that are all known in advance.
class LabelBuilder : public FixedBuilder<int32_t> {
 public:
  explicit LabelBuilder(std::shared_ptr<const Column> names) : names_(std::move(names)) {}
  Column finish(std::string name) override {
    Column column = FixedBuilder::finish(std::move(name));
    column.dictionary = names_;
    return column;
  }

 private:
  std::shared_ptr<const Column> names_;
};

}  // namespace tbq
