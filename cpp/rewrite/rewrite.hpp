// Streams the files of a run into one new event file: copies records byte for byte, except those that change.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "decode/decode.hpp"

namespace tbq {

// The rule for one series; rules are in the order of Result::series.
struct SeriesRule {
  bool drop = false;
  bool renamed = false;
  std::string tag;  // the new tag, if renamed
};

struct RewriteOptions {
  bool repair = false;  // leave damage out; otherwise the rewrite stops there
  int64_t first_step = INT64_MIN;
  int64_t last_step = INT64_MAX;
  int64_t offset = 0;         // added to each step; the caller has checked that no step overflows int64
  uint64_t every = 1;         // keep every n-th value of each series
  uint64_t max_points = 0;    // keep at most this many values of each series; 0 for all
  bool resume = false;        // drop what a later session replaced
  bool general_only = false;  // disable all fast paths: for tests that compare both
  size_t block = BlockReader::kBlock;
  std::function<bool(uint64_t bytes)> tick;  // called from time to time with new bytes; false stops
};

enum class RewriteState : uint8_t { done, cancelled, damaged, unreadable, unwritable };
const char* rewrite_state_name(RewriteState state);

// A damaged range that was left out.
struct LostRange {
  uint32_t file = 0;
  Fault fault;
};

struct RewriteReport {
  RewriteState state = RewriteState::done;
  int error = 0;      // errno, if reading or writing failed
  uint32_t file = 0;  // where the rewrite stopped
  uint64_t offset = 0;
  uint64_t records_in = 0;
  uint64_t records_out = 0;
  uint64_t headers = 0;  // of these, the records added for sessions without a file_version
  uint64_t marks = 0;    // of these, the records that only state when a session began or ended
  uint64_t changed = 0;  // records in the new file that are not byte for byte the same
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  uint64_t dropped_rule = 0;  // dropped values, by reason
  uint64_t dropped_restart = 0;
  uint64_t dropped_steps = 0;
  uint64_t dropped_thinned = 0;
  uint64_t lost_bytes = 0;
  uint64_t lost_places = 0;
  std::vector<LostRange> lost;  // the first ones
};

// Writes the sessions of `run`, in order, to a new file at `target` ("" to only report). `survey` was made
// with `session_tables`, Restarts::keep and no selection; `paths` are the paths of its files, in its order.
RewriteReport rewrite_run(const Result& survey, const std::vector<std::string>& paths, uint32_t run,
                          const std::vector<SeriesRule>& rules, const RewriteOptions& options,
                          const std::string& target);

}  // namespace tbq
