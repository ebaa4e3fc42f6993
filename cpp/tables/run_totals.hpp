// What the series of each run say together, from the table of series.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tables/arrow_abi.hpp"

namespace tbq {

struct RunTotals {
  int64_t events = 0;
  // The largest and the latest step; kNone if the run has no events.
  int64_t max_step = kNone;
  int64_t last_step = kNone;
  // Seconds from one row to the next of the series that the run logs most often: this series shows how far
  // the run is. 0 if unknown.
  double pause = 0;
  std::vector<std::string> not_finite;  // the tags whose last value is not a finite number

  static constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
};

// Reads the stream to its end. `runs` is the number of runs, which the column `run` indexes. Throws
// std::invalid_argument if a column is missing or has another type, and std::runtime_error if the stream
// fails.
std::vector<RunTotals> run_totals(ArrowArrayStream& series, size_t runs);

}  // namespace tbq
