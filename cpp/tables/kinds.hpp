// From located values to the tables of every kind but scalars: loaded, verified and expanded batch by batch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decode/decode.hpp"
#include "tables/arrow.hpp"

namespace tbq {

// A value that could not be decoded, or not all of it.
struct ValueProblem {
  const char* code = "";
  uint32_t run = 0;
  std::string tag;
  int64_t step = 0;
  uint32_t file = 0;
  uint64_t offset = 0;  // of its record
  std::string message;
};

// Problems found by streams, which may run on any thread.
class ValueProblems {
 public:
  void add(ValueProblem problem);
  // Those found since the last call, and how many more were only counted.
  std::vector<ValueProblem> take(uint64_t& more);

 private:
  static constexpr size_t kMost = 1000;
  std::mutex mutex_;
  std::vector<ValueProblem> found_;
  uint64_t more_ = 0;
};

// One value, its bytes at hand.
struct Value {
  const BlobRow* row = nullptr;
  const SeriesReport* series = nullptr;
  Bytes payload;
  // This event's own SummaryMetadata, else the tag's first.
  Bytes metadata;
  int32_t run = 0;  // codes into the dictionaries
  int32_t tag = 0;
};

// plugin_data.content of a SummaryMetadata.
Bytes plugin_content(Bytes metadata);

// Turns values into rows of one table.
class Expander {
 public:
  explicit Expander(ValueProblems& problems) : problems_(problems) {}
  virtual ~Expander() = default;
  // The columns that shall be made; null for all.
  void want(const std::vector<std::string>* columns) { wanted_ = columns; }
  // Adds the rows of one value; a value that cannot be decoded is a problem, never a failure.
  virtual void append(const Value& value) = 0;
  // Room for values of so many bytes, before they come.
  virtual void reserve(uint64_t bytes, uint64_t values) { reserve_keys(bytes, values); }
  // Makes the rows of values that lie one behind the other in columns (see BlobRow::triples), which `owner`
  // keeps; the expander must be empty, and is to be finished next.
  virtual void adopt(std::span<const BlobRow> /*rows*/, const std::shared_ptr<const void>& /*owner*/) {}
  // Moves the columns behind the keys out; the expander is empty again.
  virtual void finish(Batch& batch) = 0;

  uint64_t rows() const { return steps_.size(); }
  // The keys of rows that were adopted.
  void add_keys(std::span<const BlobRow> rows, int32_t run, int32_t tag);
  void finish_keys(Batch& batch, const std::shared_ptr<const Column>& runs,
                   const std::shared_ptr<const Column>& tags);
  bool wants(std::string_view column) const {
    return !wanted_ || std::find(wanted_->begin(), wanted_->end(), column) != wanted_->end();
  }

 protected:
  void add_keys(const Value& value, size_t rows = 1);
  void reserve_keys(uint64_t bytes, uint64_t rows);
  void report(const Value& value, const char* code, std::string message);
  // `text` itself where it is UTF-8; else it is repaired, and that is a problem.
  std::string_view utf8(const Value& value, std::string_view text);
  void report_repeated(const Value& value) {
    report(value, "too_large", "a long text that repeats on many rows is left out of some of them");
  }

 private:
  ValueProblems& problems_;
  const std::vector<std::string>* wanted_ = nullptr;
  std::string repaired_;
  Grow<int32_t> run_codes_;
  Grow<int32_t> tag_codes_;
  Grow<int64_t> steps_;
  Grow<double> walls_;
};

// A table of values: the kind whose values it is made of, and how.
struct TableKind {
  const char* name;
  Kind kind;
  std::unique_ptr<Expander> (*make)(ValueProblems&);
};
const TableKind* table_kind(std::string_view name);
std::vector<std::string> table_names();

// The values of a result, as rows of the table `name`: those of `rows` (indices into its kind's values), or
// all. Deferred values are read and verified when their batch is asked for, whichever of `columns` (null:
// all) are made of them.
void export_table(const Result& result, const TableKind& table, const std::vector<std::string>& runs,
                  const std::vector<uint32_t>* rows, const std::vector<std::string>* columns,
                  std::shared_ptr<ValueProblems> problems, ArrowArrayStream* out);

// Where the values of a kind are: run, tag, step, wall_time, bytes.
void export_keys(const Result& result, Kind kind, const std::vector<std::string>& runs,
                 ArrowArrayStream* out);

}  // namespace tbq
