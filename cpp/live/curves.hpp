// Curves for views: the first, last, smallest and largest value of all points in each pixel column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tbq {

// Points of a series that are consecutive in memory.
struct Points {
  const int64_t* steps = nullptr;
  const double* wall_times = nullptr;
  const double* values = nullptr;
  size_t count = 0;
};

struct Curve {
  std::vector<Points> points;
  double began = 0;  // start of the run, for relative times
};

enum class Axis : uint8_t { step, relative, wall };

struct CurveOptions {
  Axis axis = Axis::step;
  bool ranged = false;  // use [low, high]; otherwise all points
  double low = 0;
  double high = 0;
  size_t width = 0;
  double smooth = 0;  // TensorBoard's smoothing over all points, before any is left out
  unsigned threads = 1;
};

// The columns of all curves on one grid: column i of curve c is at index c * width + i. A column without a
// finite value has NaN.
struct Columns {
  double low = 0;
  double high = 0;
  size_t width = 0;
  std::vector<double> first;
  std::vector<double> last;
  std::vector<double> least;
  std::vector<double> largest;
  std::vector<double>
      broken;  // per curve, the position of its first value that is not finite; NaN if all are finite
};

Columns columns_of(const std::vector<Curve>& curves, const CurveOptions& options);

}  // namespace tbq
