// One call from files to tables: many files, several threads, restarts resolved, rows in order of run and
// tag.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "decode/part.hpp"
#include "decode/restarts.hpp"
#include "tables/arrow.hpp"
#include "tables/session_tables.hpp"

namespace tbq {

// What a file turned out to be.
enum class FileState : uint8_t {
  events,
  empty,       // no byte in it
  unreadable,  // `error` says why
  git_lfs,     // a Git-LFS pointer in place of the file
  not_events,  // no record in it
};
const char* file_state_name(FileState state);

struct FileSpec {
  std::string path;
  uint32_t run = 0;  // files of one run are listed together, runs in the order that the rows shall have
};

struct Progress {
  uint64_t bytes = 0;
  uint64_t total_bytes = 0;
  uint64_t files = 0;
  uint64_t total_files = 0;
};

// The columns of scalars, in the order of their table. A mask has bit `1 << column`.
enum class ScalarColumn : uint8_t { run, tag, step, wall_time, value };
using ScalarColumns = uint32_t;
constexpr ScalarColumns kAllColumns = 0x1f;
constexpr bool has(ScalarColumns mask, ScalarColumn column) {
  return (mask >> static_cast<unsigned>(column) & 1) != 0;
}

struct DecodeOptions {
  Kinds kinds = 0;
  // Of scalars. Without wall_time none is stored, and what is reported of series knows only their first one.
  ScalarColumns columns = kAllColumns;
  int64_t first_step = INT64_MIN;
  int64_t last_step = INT64_MAX;
  Restarts restarts = Restarts::resume;
  unsigned threads = 1;
  size_t block = BlockReader::kBlock;
  uint64_t split = uint64_t{16} << 20;  // a file is split for threads into parts of at least this size
  bool defer = false;
  bool details = false;  // report sessions and segments too
  bool verify = false;   // check every record, also those of which nothing is wanted
  bool count = false;    // store nothing; report the rows that the restart policy would keep of every kind
  bool general_only = false;  // take no short way: for tests that compare both
  bool count_bytes = false;   // find the total for `tick` first
  std::function<bool(uint32_t run, std::string_view tag)> select;
  // Called now and then on the calling thread; false stops everything.
  std::function<bool(const Progress&)> tick;
  // Gives the path of the unpacked file for a gzip or zlib compressed one, or "" where that fails.
  std::function<std::string(const std::string& path)> inflate;
};

struct FileReport {
  std::string path;
  uint32_t run = 0;
  FileState state = FileState::events;
  int error = 0;
  bool compressed = false;
  std::string unpacked;  // where the bytes of a compressed file are
  uint64_t bytes = 0;
  uint64_t resume = 0;  // where a later read goes on
  uint64_t records = 0;
  uint64_t values = 0;
  uint64_t truncated = 0;
  uint64_t lost_bytes = 0;
  uint64_t more_faults = 0;
  uint64_t sessions = 0;
  uint64_t bytes_read = 0;
  bool timed = false;
  double first_wall = 0;
  double last_wall = 0;
  int64_t first_step = 0;
  int64_t last_step = 0;
  int64_t max_step = 0;
  std::string writer;
  std::string file_version;
  std::vector<Fault> faults;
};

// One (run, tag, kind), whether its rows were stored or not.
struct SeriesReport {
  uint32_t run = 0;
  std::string tag;
  Kind kind = Kind::scalars;
  bool selected = true;
  TagMetadata metadata;
  std::string metadata_bytes;  // SummaryMetadata as first seen
  uint64_t dtype = 0;
  // Values logged, if they were asked for; with DecodeOptions::count those that the restart policy keeps.
  Span seen;
  uint64_t rows = 0;  // stored, after restarts
  uint64_t dropped = 0;
  int64_t dropped_first = 0;  // least and largest step that the policy dropped
  int64_t dropped_last = 0;
  uint64_t rounded = 0;
  uint64_t refused = 0;
};

// Consecutive rows of scalars in memory, with the series they belong to.
struct ScalarBatch {
  struct Span {
    uint32_t series = 0;
    uint32_t rows = 0;
  };
  std::shared_ptr<void> owner;
  const int64_t* steps = nullptr;
  const double* walls = nullptr;
  const double* values = nullptr;
  uint32_t rows = 0;
  std::vector<Span> spans;
};

class ValueProblems;

struct Result {
  std::vector<FileReport> files;
  std::vector<SeriesReport> series;     // by run, tag, kind
  std::vector<SessionReport> sessions;  // with DecodeOptions::details, as are segments
  std::vector<SegmentReport> segments;
  std::vector<ScalarBatch> scalars;
  ScalarColumns columns = kAllColumns;  // that the table of scalars shall have
  // By run, tag, as logged; `tag` is an index into `series`. Shared with the streams that are made of them.
  std::shared_ptr<BlobTable> blobs[kKindCount];
  std::vector<std::shared_ptr<Part>> parts;       // hold the bytes of blobs
  std::shared_ptr<ValueProblems> value_problems;  // found when tables are made
  bool cancelled = false;

  uint64_t scalar_rows() const;
  // The tags that have values of this kind, in order.
  std::vector<std::string> tags(Kind kind) const;
  // The series as a table, over `runs`.
  void export_series(const std::vector<std::string>& runs, ArrowArrayStream* out) const;
  // The scalars table: run and tag as dictionaries over `runs` and all tags. The batches are moved out.
  void export_scalars(const std::vector<std::string>& runs, ArrowArrayStream* out);
};

Result decode(const std::vector<FileSpec>& files, const DecodeOptions& options);

}  // namespace tbq
