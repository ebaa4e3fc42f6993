// A log directory that is followed: everything read so far, and what is new since the last look.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "decode/decode.hpp"
#include "live/live_run.hpp"

namespace tbq {

struct Update {
  // The rows that are new, and the reports of all files of runs that changed; runs are numbered as in the
  // last set_files().
  Result added;
  std::vector<RetractedRow> retracted;
  std::vector<LiveChange> changes;
  uint64_t left = 0;  // bytes that were left to the next poll
};

// A pattern that is also the name of a tag stands for that tag alone. Whether it is one shows only once the
// tag is there, and then the others that it fits are hidden.
struct Exactly {
  std::function<bool(const std::string& tag)> is_pattern;  // whether a tag is called as a pattern is
  std::function<std::vector<std::string>(Kind kind, const std::vector<std::string>& tags)> hidden;
};

class Store {
 public:
  // Of the options: kinds, steps, restarts, select, inflate, threads, block, split, general_only and tick
  // count.
  explicit Store(DecodeOptions options, Exactly exactly = {});

  // The files to follow from now on: those of one run together, runs in order. Those that are not listed any
  // more are gone. Not while an update is to be taken, which numbers runs as before.
  void set_files(const std::vector<std::string>& runs, const std::vector<FileSpec>& files);

  // Looks at every file, and reads what is new. Gives the same update until it is taken: an interrupt on the
  // way to whoever asked loses nothing. What was read before a failure, or before a stop (which returns
  // null), comes with the next call. Without `rows` an update says only which files changed. What comes after
  // about `most` bytes is left to the next update. Starts no thread if `in_place`.
  std::shared_ptr<Update> poll(bool rows = true, uint64_t most = UINT64_MAX, bool in_place = false);
  bool has_update() const { return ready_ != nullptr; }
  // The next poll gives another update; does nothing if that is so already.
  void taken(const Update& update) {
    if (ready_.get() == &update) ready_.reset();
  }

  // The columns of curves: of tags of runs, which are numbered as in the last set_files().
  struct Series {
    uint32_t run = 0;
    std::string tag;
  };
  Columns curves(const std::vector<Series>& series, CurveOptions options) const;

  // One run of the last set_files(); it is there until the next call of it.
  const LiveRun& run(size_t index) const { return *runs_.at(index); }

  // The visible points of one series, in the order of rows; none if there is no such series.
  Curve points(const Series& series) const;

  // All rows of these kinds, as decode() gives them; of these runs, or of all.
  Result everything(Kinds kinds, const std::vector<uint32_t>* runs = nullptr);

 private:
  // Finds the runs that changed, and how many bytes of them are to be read now; returns how many are left.
  uint64_t look(uint64_t most, std::vector<LiveRun*>& changed, uint64_t& bytes);
  // Finds out which series are hidden now; runs whose rows change by that are added to `changed`.
  void hide(std::vector<LiveRun*>& changed);
  static Update put_together(std::vector<RunsUpdate>& made);

  DecodeOptions options_;
  Exactly exactly_;
  SeriesNames hidden_;
  bool is_exact_ = false;                       // a tag is called as a pattern is, or was the last time
  std::vector<std::unique_ptr<LiveRun>> runs_;  // in the order of set_files()
  std::vector<std::unique_ptr<LiveRun>> gone_;  // whose rows are yet to be retracted
  std::vector<std::unique_ptr<LiveReader>> readers_;
  std::shared_ptr<Update> ready_;  // not yet taken
  size_t next_ = 0;                // the run from which on a poll reads that may not read all
};

}  // namespace tbq
