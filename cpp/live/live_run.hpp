// A followed run: its files, and which of its rows were delivered.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "decode/delivered.hpp"
#include "decode/ends.hpp"
#include "decode/join.hpp"
#include "live/curves.hpp"
#include "live/latest.hpp"
#include "live/listing.hpp"
#include "live/live_file.hpp"

namespace tbq {

// A delivered row that a later session replaced, or whose file is gone.
struct RetractedRow {
  std::string run;
  std::string tag;
  Kind kind = Kind::scalars;
  int64_t step = 0;
  double wall_time = 0;
  double value = 0;  // for a scalar
};

// What a thread needs to read files.
struct LiveReader {
  explicit LiveReader(const DecodeOptions& options) : reader(options.block) {}
  // Frees the memory that is kept for reuse.
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

// What is new in the runs that one thread reads, one after the other.
struct RunsUpdate {
  std::unique_ptr<Joiner> rows;  // files are numbered as in `files`
  std::vector<FileReport> files;
  std::vector<RetractedRow> retracted;
  std::vector<LiveChange> changes;
};

class LiveRun {
 public:
  LiveRun(std::string name, const DecodeOptions& options) : name_(std::move(name)), options_(options) {}

  const std::string& name() const { return name_; }
  uint32_t index = 0;  // index among all runs

  // A call that fails or is stopped loses nothing: the next committed update delivers what was read so far.

  // Sets the files, in this order; files that are not listed are gone.
  void set_files(std::span<const FileSpec> files);
  // Whether there is anything to read. Asks the system for the status of each file, and adds the bytes to
  // read to `bytes`.
  bool find_new_bytes(uint64_t& bytes);
  // Leaves everything after about `bytes` bytes for the next poll; returns the number of bytes left. Reads at
  // least one record of a new file.
  uint64_t limit(uint64_t bytes);
  // Divides the bytes that find_new_bytes() found in large files into pieces, and decodes one piece. Several
  // threads may call the latter.
  struct AheadJob {
    LiveRun* run = nullptr;
    size_t file = 0;
    size_t piece = 0;
  };
  void plan_ahead(BlockReader& reader, std::vector<AheadJob>& jobs);
  void read_ahead(LiveReader& reader, const StopFlag& stop, const AheadJob& job);
  // Reads the bytes that find_new_bytes() found.
  void read(LiveReader& reader, const StopFlag& stop);
  // Appends the new rows to `out`; without the rows, if `silent`. They are returned again by the next update,
  // until commit() confirms the delivery.
  struct Asked {
    bool silent = false;
    const SeriesNames* hidden = nullptr;
  };
  void update(LiveReader& reader, const Asked& asked, RunsUpdate& out);
  void commit() noexcept;
  // Adds the names of all series.
  void add_tags(SeriesNames& names) const;
  // Whether the bytes read since the last update contain a tag for which `is` returns true.
  bool has_fresh_tag(const std::function<bool(const std::string&)>& is) const;
  // Marks these series, because other rows of them may be visible now: the next update checks them. Returns
  // false if the run has none of them.
  bool recheck(const SeriesNames& series);
  // Decodes many parts of a file again as one; a compressed file never has many. Only after commit().
  bool may_merge() const;
  void merge_parts(LiveReader& reader, const SeriesNames* hidden, const StopFlag& stop);
  // The visible points of these tags, in the order of rows.
  std::vector<Curve> curves(const std::vector<std::string>& tags) const;
  // The last visible row of each series, and the row `back` rows before it.
  std::vector<Latest> latest(uint64_t back) const;
  // The properties of each series with visible rows: tags in the order in which they were first logged, then
  // by kind.
  std::vector<SeriesListing> listing() const;
  // The wall time of the first event of the first file in TensorBoard's order; none without an event.
  std::optional<double> first_event() const;
  // The wall times of the first and the last event of any kind; NaN if none is known.
  std::pair<double, double> times() const;
  // How it ended, if a mark of its writer counts.
  RunEnd end() const;
  // Adds all rows to a Joiner that does not take the memory of parts, and adds the reports of files.
  void join_all(Joiner& joiner, std::vector<FileReport>& files) const;

 private:
  struct SessionState {
    uint32_t file = 0;
    uint64_t offset = 0;
    int64_t start_limit = 0;
    size_t first_later = 0;  // the first session that began after this one ended
    bool operator==(const SessionState&) const = default;
  };

  Parts all_parts() const;
  // Joins parts and numbers the files of their rows as in `files`, to which it adds the reports.
  void join(Joiner& joiner, const Parts& parts, const RunSessions& sessions,
            std::vector<FileReport>& files) const;
  bool read_file(LiveReader& reader, LiveFile& known, const StopFlag& stop);
  void read_parts(LiveReader& reader, LiveFile& file, const File& handle, const Ahead& ahead,
                  const StopFlag& stop);
  std::shared_ptr<Part> decode(LiveReader& reader, const File& handle, const LiveFile& file, uint64_t begin,
                               uint64_t limit, const StopFlag& stop);
  std::shared_ptr<Part> decode_ahead(LiveReader& reader, LiveFile& file, const File& handle,
                                     const Ahead& ahead, const StopFlag& stop);
  void keep_place(const Part& before, const LiveFile& file) noexcept;
  // Decodes parts again: those for which `which` returns true.
  template <class Which>
  void decode_again(LiveReader& reader, const StopFlag& stop, Which&& which);
  void correct(LiveReader& reader, const StopFlag& stop);
  bool merge_parts_of(LiveReader& reader, const LiveFile& file, Parts& parts, const StopFlag& stop);
  RunSessions order(const Parts& parts) const {
    return order_run(parts, reports_, options_.restarts == Restarts::tensorboard);
  }
  void retract(const Part& part, std::vector<RetractedRow>& out) const;
  std::vector<SessionState> states_of(const RunSessions& sessions) const;

  std::string name_;
  const DecodeOptions& options_;
  std::vector<std::unique_ptr<LiveFile>> files_;
  std::vector<FileReport> reports_;  // indexed by LiveFile::id
  Plugins plugins_;
  Renames renamed_;  // for files below the run
  Delivered delivered_;
  std::vector<SessionState> states_;
  std::unordered_set<const Part*> fresh_;  // since the last join
  Parts dropped_;                          // their rows must be retracted
  NameSet stale_;                          // tags with rows that may have changed visibility
  std::vector<LiveChange> changes_;        // not yet reported
  bool dirty_ = false;                     // files came or went, or an update waits for commit()
  // The last update, which commit() makes final.
  struct Staged {
    Staged(Delivery made, std::vector<SessionState> of_sessions)
        : delivery(std::move(made)), states(std::move(of_sessions)) {}
    Delivery delivery;
    std::vector<SessionState> states;
  };
  std::optional<Staged> staged_;
};

}  // namespace tbq
