// The last row of each series of a run, for views that list runs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "event/kind.hpp"

namespace tbq {

struct Latest {
  std::string tag;
  Kind kind = Kind::scalars;
  uint64_t count = 0;  // visible rows
  int64_t step = 0;
  double wall_time = 0;
  double value = 0;  // for a scalar
  // For a scalar, a row of the same session, so many rows before the last: the two show the speed of the run.
  uint64_t earlier_rows = 0;
  int64_t earlier_step = 0;
  double earlier_wall_time = 0;
  // The first visible row of each session except the first: where it took over.
  std::vector<std::pair<int64_t, double>> takeovers;
};

}  // namespace tbq
