// Divides the files of a call among threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decode/decode.hpp"

namespace tbq {

// One run, or several consecutive small runs; or one part of a run that is large enough to split.
struct Job {
  uint32_t first_run = 0;
  uint32_t last_run = 0;  // one past the last run
  bool split = false;
  uint32_t file = 0;   // for a split job
  uint64_t begin = 0;  // where the search for the part begins
  uint64_t limit = 0;
  size_t first_job = 0;  // first job of the same run
  size_t last_job = 0;   // one past the last job of the same run
};

struct Plan {
  std::vector<size_t> runs;  // where the files of each run begin, then the end
  std::vector<Job> jobs;
  uint64_t total_bytes = 0;  // of the files with known sizes
};

Plan plan_jobs(const std::vector<FileSpec>& files, const DecodeOptions& options);

}  // namespace tbq
