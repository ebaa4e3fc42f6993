// The result of decoding: rows, and reports on each file, session and series.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "decode/part.hpp"

namespace tbq {

// The state of a file.
enum class FileState : uint8_t {
  events,
  empty,       // the file has no bytes
  unreadable,  // `error` has the reason
  git_lfs,     // a Git-LFS pointer instead of the file
  not_events,  // the file has no record
};
const char* file_state_name(FileState state);

// The columns of scalars, in the order of their table. A mask has bit `1 << column`.
enum class ScalarColumn : uint8_t { run, tag, step, wall_time, value };
using ScalarColumns = uint32_t;
constexpr ScalarColumns kAllColumns = 0x1f;
constexpr bool has(ScalarColumns mask, ScalarColumn column) {
  return (mask >> static_cast<unsigned>(column) & 1) != 0;
}

struct FileReport {
  std::string path;
  std::string name;  // orders the files, if the path is only that of a copy
  uint32_t run = 0;
  bool is_below = false;  // see decode/below.hpp
  Renames renamed;        // of its tags
  FileState state = FileState::events;
  int error = 0;
  bool compressed = false;
  std::string unpacked;  // path of the unpacked bytes of a compressed file
  uint64_t bytes = 0;
  uint64_t resume = 0;  // where a later read resumes
  uint64_t records = 0;
  uint64_t truncated = 0;
  uint64_t lost_bytes = 0;
  uint64_t more_faults = 0;
  uint64_t sessions = 0;
  uint64_t bytes_read = 0;
  StepSpan steps;  // of its values
  TimeSpan times;  // of its records
  EndMark end;
  std::string writer;
  std::string file_version;
  std::vector<Fault> faults;
  FaultLimit listed;  // of them

  const std::string& ordered_by() const { return name.empty() ? path : name; }
};

// A session of a run; the sessions of a run are consecutive and in order.
struct SessionReport {
  uint32_t run = 0;
  uint32_t file = 0;
  uint64_t offset = 0;  // the offset of its first record
  bool headed = false;  // its file_version was found
  uint64_t records = 0;
  StepSpan steps;
  TimeSpan times;
  StartStep start;
};

// One (run, tag, kind), whether or not its rows were stored.
struct SeriesReport {
  uint32_t run = 0;
  std::string tag;
  Kind kind = Kind::scalars;
  bool selected = true;
  TagMetadata metadata;
  std::string metadata_bytes;  // SummaryMetadata as first seen
  uint64_t dtype = 0;          // its number
  // The logged values, if they were asked for; with DecodeOptions::count, the values that the restart policy
  // keeps.
  Span seen;
  uint64_t rows = 0;  // stored rows, after restarts
  StepSpan dropped;   // rows dropped by the restart policy
  uint64_t rounded = 0;
  uint64_t refused = 0;
  double last_value = 0;  // of a scalar, if its values were asked for
  double pause = 0;       // of a scalar: seconds per value in its last session, at most; 0 if unknown
};

// The part of a series that one session logged; those of a series are consecutive, in the order of sessions.
struct SegmentReport {
  uint32_t series = 0;
  uint32_t session = 0;
  Span seen;
  int64_t limit = INT64_MAX;  // restarts="resume" drops steps from here on
};

// Consecutive rows of scalars in memory, with their series.
struct ScalarBatch {
  struct Stretch {
    uint32_t series = 0;
    uint32_t rows = 0;
  };
  std::shared_ptr<void> owner;
  const int64_t* steps = nullptr;
  const double* wall_times = nullptr;  // null if wall times are not wanted
  const double* values = nullptr;
  uint32_t rows = 0;
  std::vector<Stretch> stretches;
};

class ValueProblems;

struct Result {
  std::vector<FileReport> files;
  std::vector<SeriesReport> series;     // by run, tag, kind
  std::vector<SessionReport> sessions;  // with DecodeOptions::session_tables, like segments
  std::vector<SegmentReport> segments;
  std::vector<ScalarBatch> scalars;
  ScalarColumns columns = kAllColumns;  // the columns of the table of scalars
  // By run, tag, as logged; `tag` is an index into `series`. Shared with the streams made from them.
  std::shared_ptr<BlobTable> blobs[kKindCount];
  std::vector<std::shared_ptr<Part>> parts;       // own the bytes of blobs
  std::shared_ptr<ValueProblems> value_problems;  // filled while tables are made
  bool cancelled = false;
  bool scalars_taken = false;

  uint64_t scalar_rows() const;
  // The tags with values of this kind, in order.
  std::vector<std::string> tags(Kind kind) const;
  // Moves the batches of scalars out, once; false if they were moved out before.
  bool take_scalars(std::vector<ScalarBatch>& out);
};

}  // namespace tbq
