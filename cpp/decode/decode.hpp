// One call from files to rows: many files, several threads, restarts resolved, rows in order of run and tag.
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
  uint32_t run = 0;  // files of one run are listed together, runs in the order that the rows shall have
  // The records that start in [begin, limit) count; one must start at `begin`.
  uint64_t begin = 0;
  uint64_t limit = UINT64_MAX;
  std::string name = {};  // by which files are ordered, if the path is only that of a copy

  const std::string& ordered_by() const { return name.empty() ? path : name; }
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
  // Of scalars. Without wall_time none is stored, and what is reported of series knows only their first one.
  ScalarColumns columns = kAllColumns;
  int64_t first_step = INT64_MIN;
  int64_t last_step = INT64_MAX;
  Restarts restarts = Restarts::resume;
  unsigned threads = 1;
  size_t block = BlockReader::kBlock;
  uint64_t split = uint64_t{16} << 20;  // a file is split for threads into parts of at least this size
  bool in_place = false;                // start no thread, whatever `threads` says of parts
  bool defer = false;
  bool session_tables = false;  // report sessions and segments too
  bool verify = false;          // check every record, also those of which nothing is wanted
  bool count = false;  // store nothing; report the rows that the restart policy would keep of every kind
  bool general_only = false;  // use no fast path: for tests that compare both
  bool count_bytes = false;   // find the total for `tick` first
  // What counts for tags of which a run itself says nothing, as for the sessions of a run that are read
  // apart. By run; a run past the end, or with null, has none.
  std::vector<std::shared_ptr<const KnownTags>> known;
  std::function<bool(uint32_t run, std::string_view tag)> select;
  // Called now and then on the calling thread; false stops everything.
  std::function<bool(const Progress&)> tick;
  // Gives the path of the unpacked file for a gzip or zlib compressed one, or "" if that fails.
  std::function<std::string(const std::string& path)> inflate;

  // Null if there are none.
  const KnownTags* known_tags(uint32_t run) const { return run < known.size() ? known[run].get() : nullptr; }
};

Result decode(const std::vector<FileSpec>& files, const DecodeOptions& options);

}  // namespace tbq
