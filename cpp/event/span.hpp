// The steps and wall times that a sequence of values or records covers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tbq {

struct StepSpan {
  uint64_t count = 0;
  int64_t first = 0;
  int64_t last = 0;
  int64_t min = 0;
  int64_t max = 0;

  void add(int64_t step) {
    if (step > max && count > 0) [[likely]] {
      ++count;
      last = max = step;
      return;
    }
    if (count++ == 0) first = min = max = step;
    last = step;
    min = std::min(min, step);
  }

  // Adds a span that comes later.
  void merge(const StepSpan& later) {
    if (later.count == 0) return;
    if (count == 0) {
      *this = later;
      return;
    }
    count += later.count;
    last = later.last;
    min = std::min(min, later.min);
    max = std::max(max, later.max);
  }
};

struct TimeSpan {
  bool known = false;          // there is a wall time
  double begin = 0;            // the first
  double earliest = HUGE_VAL;  // the smallest finite one; a converted log may begin with a later time
  double end = 0;              // the largest

  // Ignores a wall time that is absent (0) or NaN.
  void add(double wall) {
    if (!(wall > 0 || wall < 0)) return;
    if (!known) {
      known = true;
      begin = end = wall;
    }
    if (wall > end) end = wall;
    if (wall < earliest && std::isfinite(wall)) earliest = wall;
  }

  // Adds a span that comes later.
  void merge(const TimeSpan& later) {
    earliest = std::min(earliest, later.earliest);
    if (!later.known) return;
    if (!known) begin = later.begin;
    end = known ? std::max(end, later.end) : later.end;
    known = true;
  }

  // The start time, if it is known. It is not always the first wall time that was written.
  double start() const { return std::min(begin, earliest); }
};

// The steps of a series' values, and the wall times of the first and the last.
struct Span {
  StepSpan steps;
  double first_wall_time = 0;
  double last_wall_time = 0;

  void add(int64_t step, double wall) {
    if (steps.count == 0) [[unlikely]]
      first_wall_time = wall;
    last_wall_time = wall;
    steps.add(step);
  }

  // Adds a span that comes later.
  void merge(const Span& later) {
    if (later.steps.count == 0) return;
    if (steps.count == 0) first_wall_time = later.first_wall_time;
    steps.merge(later.steps);
    last_wall_time = later.last_wall_time;
  }
};

}  // namespace tbq
