// What decoding gives: rows, and what was found in each file, session and series.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "decode/part.hpp"

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

// The columns of scalars, in the order of their table. A mask has bit `1 << column`.
enum class ScalarColumn : uint8_t { run, tag, step, wall_time, value };
using ScalarColumns = uint32_t;
constexpr ScalarColumns kAllColumns = 0x1f;
constexpr bool has(ScalarColumns mask, ScalarColumn column) {
  return (mask >> static_cast<unsigned>(column) & 1) != 0;
}

struct FileReport {
  std::string path;
  std::string name;  // by which files are ordered
  uint32_t run = 0;
  FileState state = FileState::events;
  int error = 0;
  bool compressed = false;
  std::string unpacked;  // where the bytes of a compressed file are
  uint64_t bytes = 0;
  uint64_t resume = 0;  // where a later read goes on
  uint64_t records = 0;
  uint64_t truncated = 0;
  uint64_t lost_bytes = 0;
  uint64_t more_faults = 0;
  uint64_t sessions = 0;
  uint64_t bytes_read = 0;
  StepSpan steps;  // of its values
  TimeSpan times;  // of its records
  std::string writer;
  std::string file_version;
  std::vector<Fault> faults;
  FaultLimit listed;  // of them
};

// A session of a run; those of a run lie together, in their order.
struct SessionReport {
  uint32_t run = 0;
  uint32_t file = 0;
  uint64_t offset = 0;  // of its first record
  bool headed = false;  // its file_version was found
  uint64_t records = 0;
  StepSpan steps;
  TimeSpan times;
  StartStep start;
};

// One (run, tag, kind), whether its rows were stored or not.
struct SeriesReport {
  uint32_t run = 0;
  std::string tag;
  Kind kind = Kind::scalars;
  bool selected = true;
  TagMetadata metadata;
  std::string metadata_bytes;  // SummaryMetadata as first seen
  uint64_t dtype = 0;          // its number
  // Values logged, if they were asked for; with DecodeOptions::count those that the restart policy keeps.
  Span seen;
  uint64_t rows = 0;  // stored, after restarts
  StepSpan dropped;   // by the restart policy
  uint64_t rounded = 0;
  uint64_t refused = 0;
};

// The part of a series that one session logged; those of a series lie together, in the order of sessions.
struct SegmentReport {
  uint32_t series = 0;
  uint32_t session = 0;
  Span seen;
  int64_t limit = INT64_MAX;  // restarts="resume" drops steps from here on
};

// Consecutive rows of scalars in memory, with the series they belong to.
struct ScalarBatch {
  struct Stretch {
    uint32_t series = 0;
    uint32_t rows = 0;
  };
  std::shared_ptr<void> owner;
  const int64_t* steps = nullptr;
  const double* walls = nullptr;  // null if nobody wants them
  const double* values = nullptr;
  uint32_t rows = 0;
  std::vector<Stretch> stretches;
};

class ValueProblems;

struct Result {
  std::vector<FileReport> files;
  std::vector<SeriesReport> series;     // by run, tag, kind
  std::vector<SessionReport> sessions;  // with DecodeOptions::session_tables, as are segments
  std::vector<SegmentReport> segments;
  std::vector<ScalarBatch> scalars;
  ScalarColumns columns = kAllColumns;  // that the table of scalars shall have
  // By run, tag, as logged; `tag` is an index into `series`. Shared with the streams that are made of them.
  std::shared_ptr<BlobTable> blobs[kKindCount];
  std::vector<std::shared_ptr<Part>> parts;       // hold the bytes of blobs
  std::shared_ptr<ValueProblems> value_problems;  // found when tables are made
  bool cancelled = false;
  bool scalars_taken = false;

  uint64_t scalar_rows() const;
  // The tags that have values of this kind, in order.
  std::vector<std::string> tags(Kind kind) const;
  // The batches of scalars, once: false if they have been taken before.
  bool take_scalars(std::vector<ScalarBatch>& out);
};

}  // namespace tbq
