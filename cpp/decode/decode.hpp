// Decodes files to rows in one call: many files, several threads, restarts resolved, rows ordered by run and
// tag.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "decode/restarts.hpp"
#include "decode/result.hpp"

namespace tbq {

struct FileSpec {
  std::string path;
  uint32_t run = 0;  // files of one run are consecutive; runs are in the order of the rows
  // Only records that start in [begin, limit) are decoded; a record must start at `begin`.
  uint64_t begin = 0;
  uint64_t limit = UINT64_MAX;
  std::string name = {};  // orders the files, if the path is only that of a copy
  bool is_below = false;  // of a directory below the run's own: see decode/below.hpp

  bool is_whole() const { return begin == 0 && limit == UINT64_MAX; }
};

struct Progress {
  uint64_t bytes = 0;
  uint64_t total_bytes = 0;
  uint64_t files = 0;
  uint64_t total_files = 0;
};

// The metadata of tags, by name.
struct KnownTag {
  TagMetadata parsed;
  std::string bytes;
};
using KnownTags = NameMap<KnownTag>;

struct DecodeOptions {
  Kinds kinds = 0;
  // The columns of scalars. Without wall_time no wall time is stored, and series report only their first one.
  ScalarColumns columns = kAllColumns;
  int64_t first_step = INT64_MIN;
  int64_t last_step = INT64_MAX;
  Restarts restarts = Restarts::resume;
  unsigned threads = 1;
  size_t block = BlockReader::kBlock;
  uint64_t split = uint64_t{16} << 20;  // files are split for threads into parts of at least this size
  uint64_t skippable = kSkippable;      // see PartOptions; tests choose less
  bool in_place = false;                // start no thread; `threads` only decides how files are split
  bool defer = false;
  bool session_tables = false;  // also report sessions and segments
  bool verify = false;          // check every record, even if nothing of it is wanted
  bool count = false;  // store nothing; report the rows of every kind that the restart policy would keep
  bool general_only = false;  // disable all fast paths: for tests that compare both
  bool count_bytes = false;   // compute the total for `tick` first
  // Metadata for tags without metadata of their own in the run, for example if the sessions of a run are read
  // separately. One entry per run; a run beyond the end, or with null, has none.
  std::vector<std::shared_ptr<const KnownTags>> known;
  std::function<bool(uint32_t run, std::string_view tag)> select;
  // Called from time to time on the calling thread; false stops everything.
  std::function<bool(const Progress&)> tick;
  // Returns the path of the unpacked file for a gzip or zlib file, or "" on failure.
  std::function<std::string(const std::string& path)> inflate;

  // Null if the run has none.
  const KnownTags* known_tags(uint32_t run) const { return run < known.size() ? known[run].get() : nullptr; }
};

Result decode(const std::vector<FileSpec>& files, const DecodeOptions& options);

}  // namespace tbq
