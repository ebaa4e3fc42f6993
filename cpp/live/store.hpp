// A followed log directory: everything read so far, and what is new since the last poll.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "decode/decode.hpp"
#include "live/live_run.hpp"

namespace tbq {

struct Update {
  // The new rows, and the reports on all files of the runs that changed; runs are numbered as in the last
  // set_files().
  Result added;
  std::vector<RetractedRow> retracted;
  std::vector<LiveChange> changes;
  uint64_t left = 0;  // bytes left for the next poll
};

// An exact tag name wins over a pattern: then the other tags that match are hidden. Whether a pattern is a
// tag's name is known only once that tag appears.
struct Exactly {
  std::function<bool(const std::string& tag)> is_pattern;  // whether a tag has the same name as a pattern
  std::function<std::vector<std::string>(Kind kind, const std::vector<std::string>& tags)> hidden;
};

class Store {
 public:
  // Uses these options: kinds, steps, restarts, select, inflate, threads, block, split, general_only and
  // tick.
  explicit Store(DecodeOptions options, Exactly exactly = {});

  // Sets the files to follow: files of one run together, runs in order. Files no longer listed are gone. Must
  // not be called while an update waits for received(), because that update numbers the runs as before.
  void set_files(const std::vector<std::string>& runs, const std::vector<FileSpec>& files);

  // Checks every file and reads what is new. Returns the same update until received() is called, so an
  // interrupt on the way to the caller loses nothing. What was read before a failure, or before a stop (which
  // returns null), comes with the next call. Without `rows`, an update only lists the changed files.
  // Everything after about `most` bytes is left for the next update. With `in_place`, starts no thread.
  std::shared_ptr<Update> poll(bool rows = true, uint64_t most = UINT64_MAX, bool in_place = false);
  bool has_update() const { return ready_ != nullptr; }
  // Confirms an update, so that the next poll returns another one; does nothing if it was confirmed before.
  void received(const Update& update) {
    if (ready_.get() == &update) ready_.reset();
  }

  // The columns of curves; a series is a tag of a run, numbered as in the last set_files().
  struct Series {
    uint32_t run = 0;
    std::string tag;
  };
  Columns curves(const std::vector<Series>& series, CurveOptions options) const;

  // One run of the last set_files(); valid until the next call of set_files().
  const LiveRun& run(size_t index) const { return *runs_.at(index); }

  // The visible points of one series, in the order of rows; none if there is no such series.
  Curve points(const Series& series) const;

  // All rows of these kinds, as decode() returns them, of these runs or of all.
  Result everything(Kinds kinds, const std::vector<uint32_t>* runs = nullptr);

 private:
  // Finds the runs that changed and the number of bytes to read from them now; returns the number of bytes
  // left.
  uint64_t find_changes(uint64_t most, std::vector<LiveRun*>& changed, uint64_t& bytes);
  // Determines which series are hidden now, and adds the runs with changed rows to `changed`.
  void hide(std::vector<LiveRun*>& changed);
  void sort_runs(std::vector<LiveRun*>& changed) const;
  static Update put_together(std::vector<RunsUpdate>& made);

  DecodeOptions options_;
  Exactly exactly_;
  SeriesNames hidden_;
  bool is_exact_ = false;                       // a tag has the name of a pattern, now or at the last poll
  std::vector<std::unique_ptr<LiveRun>> runs_;  // in the order of set_files()
  std::vector<std::unique_ptr<LiveRun>> gone_;  // their rows must still be retracted
  std::vector<std::unique_ptr<LiveReader>> readers_;
  std::shared_ptr<Update> ready_;  // not yet confirmed by received()
  size_t next_ = 0;                // the run with which a limited poll begins
};

}  // namespace tbq
