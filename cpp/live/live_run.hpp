// One run that is followed: its files, and which of its rows have been delivered.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "decode/delivered.hpp"
#include "decode/join.hpp"
#include "live/curves.hpp"
#include "live/latest.hpp"
#include "live/listing.hpp"
#include "live/live_file.hpp"

namespace tbq {

// A row that was delivered, and that a later session overtook or whose file is gone.
struct RetractedRow {
  std::string run;
  std::string tag;
  Kind kind = Kind::scalars;
  int64_t step = 0;
  double wall_time = 0;
  double value = 0;  // of a scalar
};

// What a thread needs to read files.
struct LiveReader {
  explicit LiveReader(const DecodeOptions& options) : reader(options.block) {}
  Pool pool;
  BlockReader reader;
};

struct LiveChange {
  std::string run;
  std::string path;
  FileChange what = FileChange::none;
};

// What is new in runs that one thread reads, one after the other.
struct RunsUpdate {
  std::unique_ptr<Joiner> rows;  // their files are numbered as in `files`
  std::vector<FileReport> files;
  std::vector<RetractedRow> retracted;
  std::vector<LiveChange> changes;
};

class LiveRun {
 public:
  LiveRun(std::string name, const DecodeOptions& options) : name_(std::move(name)), options_(options) {}

  const std::string& name() const { return name_; }
  uint32_t index = 0;  // among all runs

  // These files, in this order; those that are not among them are gone.
  void set_files(const std::vector<std::string>& paths);
  // Whether there is anything to read; asks the system for the status of each file.
  bool look();
  // Reads what look() found; what is new comes after what is in `out` already. Rows are given and retracted
  // only with `rows`.
  void read(LiveReader& reader, const std::atomic<bool>* cancelled, bool rows, RunsUpdate& out);
  // Decodes parts of a file again as one, if there are many.
  void merge_parts(LiveReader& reader);
  // The visible points of these tags, in the order of rows.
  std::vector<Curve> curves(const std::vector<std::string>& tags) const;
  // The last visible row of each series; `back` rows before it is the earlier one.
  std::vector<Latest> latest(uint64_t back) const;
  // What there is of each series that has visible rows: tags as they were first logged, and by kind.
  std::vector<SeriesListing> listing() const;
  // The wall time of the first event of the first file, as TensorBoard reads them; none without an event.
  std::optional<double> first_event() const;
  // When the first and the last event of any kind were written; NaN if no wall time is known.
  std::pair<double, double> times() const;
  // All rows, into a Joiner that leaves the memory of parts alone, and the reports of files.
  void join_all(Joiner& joiner, std::vector<FileReport>& files) const;

 private:
  struct SessionState {
    uint32_t file = 0;
    uint64_t offset = 0;
    int64_t start_limit = 0;
    size_t first_later = 0;  // the first session that began after this one had ended
    bool operator==(const SessionState&) const = default;
  };

  Parts all_parts() const;
  // Joins parts, and numbers the files of their rows as in `files`, to which the reports are added.
  void join(Joiner& joiner, const Parts& parts, const RunSessions& sessions,
            std::vector<FileReport>& files) const;
  void read_file(LiveReader& reader, LiveFile& file, const std::atomic<bool>* cancelled);
  bool read_on(LiveReader& reader, LiveFile& file, const File& handle, const std::atomic<bool>* cancelled);
  std::shared_ptr<Part> decode(LiveReader& reader, const File& handle, uint32_t file, uint64_t begin,
                               uint64_t limit, const std::atomic<bool>* cancelled);
  void correct_plugins(LiveReader& reader, Parts& parts, RunSessions& sessions,
                       const std::atomic<bool>* cancelled);
  void drop(LiveFile& file);
  void retract(const Part& part, std::vector<RetractedRow>* out);
  std::vector<SessionState> states_of(const RunSessions& sessions) const;

  std::string name_;
  const DecodeOptions& options_;
  std::vector<std::unique_ptr<LiveFile>> files_;
  std::vector<FileReport> reports_;  // by LiveFile::id
  Plugins plugins_;
  Delivered delivered_;
  std::vector<SessionState> states_;
  std::unordered_set<const Part*> fresh_;  // since the last join
  Parts dropped_;                          // whose rows are to be retracted
  std::vector<LiveChange> changes_;        // not yet told
  bool dirty_ = false;                     // files came or went
};

}  // namespace tbq
