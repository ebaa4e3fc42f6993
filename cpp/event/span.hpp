// The steps and wall times that a row of values covers.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tbq {

struct Span {
  uint64_t count = 0;
  int64_t first_step = 0;
  int64_t last_step = 0;
  int64_t min_step = 0;
  int64_t max_step = 0;
  double first_wall = 0;
  double last_wall = 0;

  void add(int64_t step, double wall) {
    if (count++ == 0) {
      first_step = min_step = max_step = step;
      first_wall = wall;
    }
    last_step = step;
    last_wall = wall;
    min_step = std::min(min_step, step);
    max_step = std::max(max_step, step);
  }

  // Adds what comes after it.
  void merge(const Span& later) {
    if (later.count == 0) return;
    if (count == 0) {
      *this = later;
      return;
    }
    count += later.count;
    last_step = later.last_step;
    last_wall = later.last_wall;
    min_step = std::min(min_step, later.min_step);
    max_step = std::max(max_step, later.max_step);
  }
};

}  // namespace tbq
