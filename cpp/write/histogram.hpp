// Counts an array's values in the default bins of TensorBoard's writers: powers of 1.1 on both sides of zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tbq {

struct Histogram {
  double min = 0;
  double max = 0;
  double sum = 0;
  double sum_squares = 0;
  std::vector<int64_t> counts;  // one per bin, default_bin_edges().size() - 1 of them
};

// 1e-12 times powers of 1.1 up to 1e20, their negatives, and zero, ascending.
const std::vector<double>& default_bin_edges();

// Bins are [left, right), the last one [left, right]; NaN and values outside the edges are in no bin. min,
// max and the sums cover all values, so a NaN shows in them, as in NumPy.
Histogram default_histogram(std::span<const float> values);
Histogram default_histogram(std::span<const double> values);

}  // namespace tbq
