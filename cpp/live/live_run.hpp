// One run that is followed: its files, and which of its rows have been delivered.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
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
  // Gives back the memory that is kept to be used again.
  void release() {
    pool = new_pool();
    kept = new_pool();
    much = false;
  }

  Pool pool = new_pool();
  Pool kept =
      new_pool();  // for rows that stay, if there is much to read: large pieces cost less than small ones
  bool much = false;
  BlockReader reader;

 private:
  static Pool new_pool() { return Pool(true, !kSanitized, true); }
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

  // A call that fails or is stopped loses nothing: what was read so far is delivered by the next update that
  // is committed.

  // These files, in this order; those that are not among them are gone.
  void set_files(const std::vector<FileSpec>& files);
  // Whether there is anything to read; asks the system for the status of each file. `bytes` grows by what is
  // to be read.
  bool look(uint64_t& bytes);
  // Leaves what comes after about so many bytes to the next look; returns how many bytes that are. Of a file
  // that is new at least one record is read.
  uint64_t limit(uint64_t bytes);
  // Divides what look() found of large files into pieces, and decodes one of them. Several threads may.
  struct AheadJob {
    LiveRun* run = nullptr;
    size_t file = 0;
    size_t piece = 0;
  };
  void plan_ahead(BlockReader& reader, std::vector<AheadJob>& jobs);
  void read_ahead(LiveReader& reader, const StopFlag& stop, const AheadJob& job);
  // Reads what look() found.
  void read(LiveReader& reader, const StopFlag& stop);
  // What is new then comes after what is in `out` already; not the rows if it is silent. It comes again with
  // the next update, until commit() says that it was delivered.
  struct Asked {
    bool silent = false;
    const SeriesNames* hidden = nullptr;
  };
  void update(LiveReader& reader, const Asked& asked, RunsUpdate& out);
  void commit() noexcept;
  // The series that there are.
  void add_tags(SeriesNames& names) const;
  // Whether what was read since the last update has such a tag.
  bool has_fresh_tag(const std::function<bool(const std::string&)>& is) const;
  // Other rows of these series may be visible now: the next update looks. False if it has none of them.
  bool look_again_at(const SeriesNames& series);
  // Decodes parts of a file again as one, if there are many. Only after commit().
  bool may_merge() const;
  void merge_parts(LiveReader& reader, const SeriesNames* hidden, const StopFlag& stop);
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
  bool read_file(LiveReader& reader, LiveFile& known, const StopFlag& stop);
  void read_parts(LiveReader& reader, LiveFile& file, const File& handle, const Ahead& ahead,
                  const StopFlag& stop);
  std::shared_ptr<Part> decode(LiveReader& reader, const File& handle, uint32_t file, uint64_t begin,
                               uint64_t limit, const StopFlag& stop);
  std::shared_ptr<Part> decode_ahead(LiveReader& reader, LiveFile& file, const File& handle,
                                     const Ahead& ahead, const StopFlag& stop);
  void keep_place(const Part& before, const LiveFile& file) noexcept;
  void correct_plugins(LiveReader& reader, const StopFlag& stop);
  bool merge_parts_of(LiveReader& reader, const LiveFile& file, Parts& parts, const StopFlag& stop);
  RunSessions order(const Parts& parts) const {
    return order_run(parts, reports_, options_.restarts == Restarts::tensorboard);
  }
  void retract(const Part& part, std::vector<RetractedRow>& out) const;
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
  NameSet stale_;                          // tags of which other rows may be visible
  std::vector<LiveChange> changes_;        // not yet told
  bool dirty_ = false;                     // files came or went, or an update is to be committed
  // What commit() makes true: the last update.
  struct Staged {
    Staged(Delivery made, std::vector<SessionState> of_sessions)
        : delivery(std::move(made)), states(std::move(of_sessions)) {}
    Delivery delivery;
    std::vector<SessionState> states;
  };
  std::optional<Staged> staged_;
};

}  // namespace tbq
