// Streaming the files of a run into one new event file: records byte for byte, except those that are to
// change.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "decode/decode.hpp"

namespace tbq {

// What happens to one series; in the order of Result::series.
struct SeriesRule {
  bool drop = false;
  bool renamed = false;
  std::string tag;  // the new one, if renamed
};

struct RewriteOptions {
  bool repair = false;  // leave damage out, which is otherwise the end
  int64_t first_step = INT64_MIN;
  int64_t last_step = INT64_MAX;
  int64_t offset = 0;         // added to each step; the caller has made sure that no step leaves int64
  uint64_t every = 1;         // of each series, keep each n-th value
  uint64_t max_points = 0;    // of each series, keep at most so many values; 0 for all
  bool resume = false;        // drop what a later session overtook
  bool general_only = false;  // use no fast path: for tests that compare both
  size_t block = BlockReader::kBlock;
  std::function<bool(uint64_t bytes)> tick;  // called now and then with the bytes passed since; false stops
};

enum class RewriteState : uint8_t { done, cancelled, damaged, unreadable, unwritable };
const char* rewrite_state_name(RewriteState state);

// Bytes that were left out because they are damaged.
struct LostRange {
  uint32_t file = 0;
  Fault fault;
};

struct RewriteReport {
  RewriteState state = RewriteState::done;
  int error = 0;      // errno, if it could not be read or written
  uint32_t file = 0;  // where it stopped
  uint64_t offset = 0;
  uint64_t records_in = 0;
  uint64_t records_out = 0;
  uint64_t headers = 0;  // records among those that were made for sessions without a file_version
  uint64_t marks = 0;    // records among those that only say when a session began or ended
  uint64_t changed = 0;  // records that are in the new file, but not byte for byte
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  uint64_t dropped_rule = 0;  // values left out, by reason
  uint64_t dropped_restart = 0;
  uint64_t dropped_steps = 0;
  uint64_t dropped_thinned = 0;
  uint64_t lost_bytes = 0;
  uint64_t lost_places = 0;
  std::vector<LostRange> lost;  // the first of them
};

// Writes the sessions of `run`, in their order, to a new file at `target` ("" for nothing but the report).
// `survey` was made with `session_tables`, Restarts::keep and no selection; `paths` are where its files lie,
// in its order.
RewriteReport rewrite_run(const Result& survey, const std::vector<std::string>& paths, uint32_t run,
                          const std::vector<SeriesRule>& rules, const RewriteOptions& options,
                          const std::string& target);

}  // namespace tbq
