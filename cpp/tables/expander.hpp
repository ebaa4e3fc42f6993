// From values to rows: what the tables of all kinds have in common.
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
#include "tables/builders.hpp"
#include "tables/value_problems.hpp"

namespace tbq {

// One value, its bytes at hand.
struct Value {
  const BlobRow* row = nullptr;
  const SeriesReport* series = nullptr;
  Bytes payload;
  // This event's own SummaryMetadata, otherwise the tag's first.
  Bytes metadata;
  int32_t run = 0;  // codes into the dictionaries
  int32_t tag = 0;
  int64_t number = 0;  // its place among all values of its kind
};

// The column that says which value a row is of. It is made only if it is asked for by name: tables have none.
inline constexpr const char* kNumberColumn = "value_number";

// Turns values into rows of one table.
class Expander {
 public:
  explicit Expander(ValueProblems& problems) : problems_(problems) {}
  virtual ~Expander() = default;
  // The columns that shall be made; null for all.
  void want(const std::vector<std::string>* columns) {
    wanted_ = columns;
    numbered_ = columns && wants(kNumberColumn);
  }
  // Adds the rows of one value; a value that cannot be decoded is a problem, never a failure.
  virtual void append(const Value& value) = 0;
  // Room for values of so many bytes, before they come.
  virtual void reserve(uint64_t bytes, uint64_t values) { reserve_keys(bytes, values); }
  // Makes the rows of values that lie one after the other in columns (see BlobRow::bins), which `owner`
  // keeps; the expander must be empty, and is to be finished next.
  virtual void adopt(std::span<const BlobRow> /*rows*/, const std::shared_ptr<const void>& /*owner*/) {}
  // Moves the columns after the keys out; the expander is empty again.
  virtual void finish(Batch& batch) = 0;

  uint64_t rows() const { return steps_.size(); }
  // The keys of rows that were adopted.
  void add_keys(std::span<const BlobRow> rows, int32_t run, int32_t tag);
  // The number of one of these.
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
  void reserve_keys(uint64_t bytes, uint64_t rows);
  void report(const Value& value, const char* code, std::string message);
  // `text` itself if it is UTF-8; otherwise it is repaired, and that is a problem.
  std::string_view utf8(const Value& value, std::string_view text);
  void report_repeated(const Value& value) {
    report(value, "too_large", "a long text that repeats on many rows is left out of some of them");
  }

 private:
  ValueProblems& problems_;
  const std::vector<std::string>* wanted_ = nullptr;
  bool numbered_ = false;
  std::string repaired_;
  GrowableBuffer<int32_t> run_codes_;
  GrowableBuffer<int32_t> tag_codes_;
  GrowableBuffer<int64_t> steps_;
  GrowableBuffer<double> walls_;
  GrowableBuffer<int64_t> numbers_of_values_;
};

}  // namespace tbq
