// How the files of a call are divided among threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decode/decode.hpp"

namespace tbq {

// A run, or several small ones in a row; or one part of a run that is large enough to be split.
struct Job {
  uint32_t first_run = 0;
  uint32_t last_run = 0;  // after the last
  bool split = false;
  uint32_t file = 0;   // for a split job
  uint64_t begin = 0;  // where the part is looked for
  uint64_t limit = 0;
  size_t first_job = 0;  // of the same run
  size_t last_job = 0;   // after the last of the same run
};

struct Plan {
  std::vector<size_t> runs;  // where the files of each run begin, and the end
  std::vector<Job> jobs;
  uint64_t total_bytes = 0;  // of the files whose sizes were asked for
};

Plan plan_jobs(const std::vector<FileSpec>& files, const DecodeOptions& options);

}  // namespace tbq
