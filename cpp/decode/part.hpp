// Decodes one part of one file (usually the entire file): records, events, and what is kept of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bytes/seeded_hash.hpp"
#include "decode/pool.hpp"
#include "decode/tags.hpp"
#include "event/span.hpp"
#include "io/arena.hpp"
#include "io/input.hpp"
#include "io/stop_flag.hpp"
#include "record/fault.hpp"

namespace tbq {

// The step of the SessionLog.START in a session: the smallest, if there are several.
struct StartStep {
  bool known = false;
  int64_t step = 0;

  void add(int64_t another) {
    step = known ? std::min(step, another) : another;
    known = true;
  }
  void merge(const StartStep& other) {
    if (other.known) add(other.step);
  }
};

// The first record of a session after its headers (file_version and SessionLog.START). A writer that opens
// its file late gives the headers a later time.
struct FirstEvent {
  bool known = false;
  double wall_time = 0;

  void merge(const FirstEvent& later) {
    if (!known) *this = later;
  }
};

// The last event that says how its writer ended.
struct EndMark {
  bool known = false;
  bool failed = false;
  double wall_time = 0;

  // Adds a mark that comes later; the status is that of the hparams plugin, and only its ends count.
  void add(uint64_t status, double wall);
  void merge(const EndMark& later) {
    if (later.known && (!known || later.wall_time >= wall_time)) *this = later;
  }
};

// A session: from an event file's start, or a later file_version record in it, to the next.
struct Session {
  uint64_t offset = 0;     // the offset of its first record
  bool continues = false;  // it began in an earlier part of the file
  bool headed = false;     // its file_version was found
  uint64_t records = 0;
  StepSpan steps;  // of its values
  TimeSpan times;  // of its records
  FirstEvent first_event;
  StartStep start;
};

// The plugin of each tag of a run, as its first metadata names it.
using Plugins = NameMap<std::string>;

// Tags of a file below its run that have another name in the run: see decode/below.hpp.
using Renames = std::map<std::string, std::string, std::less<>>;

struct Part;

// To skip a record takes a look at its head, at its end, and one more read of the file. Reading and verifying
// a shorter record costs less.
constexpr uint64_t kSkippable = uint64_t{16} << 10;

struct PartOptions {
  Kinds kinds = 0;  // kinds whose rows are stored
  int64_t first_step = INT64_MIN;
  int64_t last_step = INT64_MAX;
  bool defer = false;       // keep only the positions of large payloads
  bool steps_only = false;  // store the steps and times of values, not their bytes
  // Verify and count every record. Otherwise, a record longer than `skippable` may be skipped unread if
  // nothing of it is wanted; it then does not count.
  bool careful = false;
  uint64_t skippable = kSkippable;
  bool general_only = false;  // disable all fast paths: for tests that compare both
  uint32_t run = 0;
  const Plugins* plugins = nullptr;  // known from elsewhere in the run
  const Renames* renamed = nullptr;  // for a file below its run
  // The parts of the same file before this one, if they are known: their knowledge of tags applies here too.
  std::vector<const Part*> before = {};
  // Called once for each new tag; empty selects all.
  const std::function<bool(uint32_t run, std::string_view tag)>* select = nullptr;
  const StopFlag* stop = nullptr;
  std::atomic<uint64_t>* progress = nullptr;  // grows by the number of bytes processed
};

struct Part {
  uint32_t file = 0;
  uint64_t begin = 0;
  uint64_t limit = 0;      // records that start at or after it belong to the next part
  uint64_t stopped = 0;    // one past the last record, where the next part must begin
  uint64_t settled = 0;    // bytes appended to the file cannot change anything before this offset
  uint64_t end = 0;        // the end of the file, as far as it could be read
  uint64_t truncated = 0;  // bytes of an unfinished record at the end
  uint64_t records = 0;
  uint64_t passed = 0;  // large records that were skipped unverified
  TimeSpan claimed;     // their wall times, if their heads are valid
  uint64_t bytes_read = 0;
  int error = 0;  // errno of a failed read
  std::string writer;
  std::string file_version;
  std::vector<Session> sessions;
  std::vector<Fault> faults;
  FaultLimit listed;         // of them
  uint64_t more_faults = 0;  // further faults that are not listed
  uint64_t lost_bytes = 0;
  EndMark end_mark;
  bool has_event = false;
  int64_t first_event_step = 0;  // the step of the first event that counts
  bool in_doubt = false;         // the walk from the file's start may skip damage that is listed here
  // Tags of damaged records with an unknown kind. Their only use: deciding whether to decode again.
  NameSet unsure;
  Renames renamed;                            // by these names its tags were stored
  std::set<std::string, std::less<>> logged;  // the tags of a file below its run, as they were logged
  TagTable tags;
  Arena arena;
  std::vector<std::shared_ptr<void>> slabs;  // own the columns that rows point to
};

// Decodes the records that start in [begin, limit) of `file`; a record must start at `begin`.
void decode_part(const File& file, BlockReader& reader, Pool& pool, const PartOptions& options,
                 uint64_t begin, uint64_t limit, Part& out);

}  // namespace tbq
