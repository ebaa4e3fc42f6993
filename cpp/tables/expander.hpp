// Turns values into rows: the common part of the tables of all kinds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decode/result.hpp"
#include "event/tensor.hpp"
#include "tables/builders.hpp"
#include "tables/value_problems.hpp"

namespace tbq {

// One value with its bytes in memory.
struct Value {
  const BlobRow* row = nullptr;
  const SeriesReport* series = nullptr;
  Bytes payload;
  // The SummaryMetadata of this event, or else the tag's first.
  Bytes metadata;
  int32_t run = 0;  // run and tag are codes into the dictionaries
  int32_t tag = 0;
  int64_t number = 0;  // its position among all values of its kind
};

// The column with the position of a row's value. It is filled only if asked for by name; tables do not have
// it.
inline constexpr const char* kNumberColumn = "value_number";

// Turns values into rows of one table. A row is null in each column that it appends nothing to.
class Expander {
 public:
  explicit Expander(ValueProblems& problems) : problems_(problems) {}
  virtual ~Expander() = default;
  // Sets the columns to fill; null for all.
  void want(const std::vector<std::string>* columns) {
    wanted_ = columns;
    numbered_ = columns && wants(kNumberColumn);
  }
  // Adds the rows of one value. A value that cannot be decoded is reported as a problem; it never fails the
  // call.
  virtual void append(const Value& value) = 0;
  // Reserves room for values with `bytes` bytes in total.
  virtual void reserve(uint64_t /*bytes*/, uint64_t values) { reserve_keys(values); }
  // Makes rows from values that already lie consecutively in columns (see BlobRow::bins), kept alive by
  // `owner`. The expander must be empty, and the next call must be finish().
  virtual void adopt(std::span<const BlobRow> /*rows*/, const std::shared_ptr<const void>& /*owner*/) {}
  // Moves the columns after the keys out, with batch.length rows, and leaves the expander empty.
  virtual void finish(Batch& batch);

  // Adds a column after the existing ones.
  void add_column(const char* name, ColumnBuilder& builder) { columns_.push_back({name, &builder}); }
  uint64_t rows() const { return steps_.size(); }
  // Adds the keys of adopted rows.
  void add_keys(std::span<const BlobRow> rows, int32_t run, int32_t tag);
  // Adds the value number of one adopted row.
  void add_number(int64_t number) {
    if (numbered_) numbers_of_values_.push(number);
  }
  void finish_keys(Batch& batch, const std::shared_ptr<const Column>& runs,
                   const std::shared_ptr<const Column>& tags);
  bool wants(std::string_view column) const {
    return !wanted_ || std::find(wanted_->begin(), wanted_->end(), column) != wanted_->end();
  }

 protected:
  void add_keys(const Value& value, size_t rows = 1);
  void reserve_keys(uint64_t rows);
  void report(const Value& value, const char* code, std::string message);
  // Returns `text` itself if it is UTF-8; otherwise repairs it and reports a problem.
  std::string_view utf8(const Value& value, std::string_view text);
  // Appends a text that one message repeats on many rows; appends null once the budget is spent.
  void append_repeated(const Value& value, TextBuilder& column, std::string_view text);

  RepeatBudget budget_;

 private:
  struct NamedColumn {
    const char* name;
    ColumnBuilder* builder;
  };
  void fill_up(size_t rows);

  ValueProblems& problems_;
  const std::vector<std::string>* wanted_ = nullptr;
  bool numbered_ = false;
  std::string repaired_;
  std::vector<NamedColumn> columns_;
  GrowableBuffer<int32_t> run_codes_;
  GrowableBuffer<int32_t> tag_codes_;
  GrowableBuffer<int64_t> steps_;
  GrowableBuffer<double> wall_times_;
  GrowableBuffer<int64_t> numbers_of_values_;
};

// A column of an expander's table.
template <class Builder>
class Named : public Builder {
 public:
  template <class... Arguments>
  Named(Expander& table, const char* name, Arguments&&... arguments)
      : Builder(std::forward<Arguments>(arguments)...) {
    table.add_column(name, *this);
  }
};
using StringColumn = Named<TextBuilder>;
using BytesColumn = Named<BytesBuilder>;
using LabelColumn = Named<LabelBuilder>;
using IntegerColumn = Named<FixedBuilder<int64_t>>;
using NumberColumn = Named<FixedBuilder<double>>;

}  // namespace tbq
