// Decoding of one part of one file (most often all of it): records, events, and what is kept of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
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

// The step of the SessionLog.START in a session: the least, if there are several.
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

// The first record of a session after its headers (file_version and SessionLog.START): a writer that opens
// its file late dates the headers after it.
struct FirstEvent {
  bool known = false;
  double wall_time = 0;

  void merge(const FirstEvent& later) {
    if (!known) *this = later;
  }
};

// From an event file's start, or a further file_version record in it, to the next.
struct Session {
  uint64_t offset = 0;     // of its first record
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

struct Part;

struct PartOptions {
  Kinds kinds = 0;  // whose rows are stored
  int64_t first_step = INT64_MIN;
  int64_t last_step = INT64_MAX;
  bool defer = false;       // keep only where large payloads lie
  bool steps_only = false;  // store the steps and times of values, not their bytes
  // Verify every record, and count each of them. Otherwise a large record of which nothing is wanted may be
  // passed over unread; it then counts for nothing.
  bool careful = false;
  bool general_only = false;  // use no fast path: for tests that compare both
  uint32_t run = 0;
  const Plugins* plugins = nullptr;  // known from elsewhere in the run
  // The parts of the same file before this one, if they are known: what they say of tags counts here too.
  std::vector<const Part*> before = {};
  // Asked once for each new tag; empty takes all.
  const std::function<bool(uint32_t run, std::string_view tag)>* select = nullptr;
  const StopFlag* stop = nullptr;
  std::atomic<uint64_t>* progress = nullptr;  // grows by the bytes passed
};

struct Part {
  uint32_t file = 0;
  uint64_t begin = 0;
  uint64_t limit = 0;      // records that start at or after it belong to the next part
  uint64_t stopped = 0;    // the first byte after the last record, where the next part must begin
  uint64_t settled = 0;    // up to here nothing changes when the file grows
  uint64_t end = 0;        // of the file, as far as it could be read
  uint64_t truncated = 0;  // bytes of an unfinished record at the end
  uint64_t records = 0;
  uint64_t passed = 0;  // large records that were passed over unverified
  TimeSpan claimed;     // their wall times, if their heads are sound
  uint64_t bytes_read = 0;
  int error = 0;  // errno of a failed read
  std::string writer;
  std::string file_version;
  std::vector<Session> sessions;
  std::vector<Fault> faults;
  FaultLimit listed;         // of them
  uint64_t more_faults = 0;  // beyond those listed
  uint64_t lost_bytes = 0;
  bool has_event = false;
  int64_t first_event_step = 0;  // of the first event that counts
  bool in_doubt = false;         // the walk from the file's start may pass over damage that is listed here
  // Tags of damaged records whose kind could not be known: a reason to decode again, and no other.
  NameSet unsure;
  TagTable tags;
  Arena arena;
  std::vector<std::shared_ptr<void>> slabs;  // of columns that rows point to
};

// Decodes the records that start in [begin, limit) of `file`, where a record must start at `begin`.
void decode_part(const File& file, BlockReader& reader, Pool& pool, const PartOptions& options,
                 uint64_t begin, uint64_t limit, Part& out);

}  // namespace tbq
