// From located values to the tables of every kind but scalars: loaded, verified and expanded batch by batch.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tbq/arrow.hpp"
#include "tbq/decode.hpp"

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

// What streams found and read; they may run on any thread.
class ValueProblems {
 public:
  void add(ValueProblem problem);
  // Those found since the last call, and how many more were only counted.
  std::vector<ValueProblem> take(uint64_t& more);
  // Bytes that were read from files, beyond those that decoding itself has read.
  void add_read(uint64_t bytes) { bytes_read_ += bytes; }
  uint64_t bytes_read() const { return bytes_read_; }

 private:
  static constexpr size_t kMost = 1000;
  std::mutex mutex_;
  std::vector<ValueProblem> found_;
  uint64_t more_ = 0;
  std::atomic<uint64_t> bytes_read_ = 0;
};

// What the columns that are wanted take of a payload.
enum class Need : uint8_t {
  nothing,
  outline,  // its fields, of which long ones may be cut: their lengths and first bytes are enough
  whole,
};

// A part of an outline that was cut, by where it begins in the payload, and how long it is in the file.
struct Cut {
  size_t offset = 0;
  uint64_t length = 0;
};

// One value, its bytes at hand as far as they are needed.
struct Value {
  const BlobRow* row = nullptr;
  const SeriesReport* series = nullptr;
  Bytes payload;
  std::span<const Cut> cuts;
  // This event's own SummaryMetadata, else the tag's first.
  Bytes metadata;
  int32_t run = 0;  // codes into the dictionaries
  int32_t tag = 0;

  // How long a part of the payload is in the file.
  uint64_t length_of(Bytes part) const {
    const auto at =
        std::lower_bound(cuts.begin(), cuts.end(), part.data(),
                         [&](const Cut& cut, const auto* p) { return payload.data() + cut.offset < p; });
    return at != cuts.end() && payload.data() + at->offset == part.data() ? at->length : part.size();
  }
  bool is_cut(Bytes part) const { return length_of(part) != part.size(); }
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
  // What they take of a value of this form.
  virtual Need need(Form /*form*/) const { return Need::whole; }
  // Adds the rows of one value; a value that cannot be decoded is a problem, never a failure. Where an
  // outline is not enough nothing is added: then lacks() says so, once.
  virtual void append(const Value& value) = 0;
  bool lacks() { return std::exchange(lacks_, false); }
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
  void ask_whole() { lacks_ = true; }
  void report_repeated(const Value& value) {
    report(value, "too_large", "a long text that repeats on many rows is left out of some of them");
  }

 private:
  ValueProblems& problems_;
  const std::vector<std::string>* wanted_ = nullptr;
  bool lacks_ = false;
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
// all. Deferred values are read and verified when their batch is asked for; where `columns` (null: all) need
// only an outline of them, no more is read, and so not verified.
void export_table(const Result& result, const TableKind& table, const std::vector<std::string>& runs,
                  const std::vector<uint32_t>* rows, const std::vector<std::string>* columns,
                  std::shared_ptr<ValueProblems> problems, ArrowArrayStream* out);

// Where the values of a kind are: run, tag, step, wall_time, bytes.
void export_keys(const Result& result, Kind kind, const std::vector<std::string>& runs,
                 ArrowArrayStream* out);

}  // namespace tbq
