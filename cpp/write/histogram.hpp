// Counts of an array in the bins that TensorBoard's writers use by default: powers of 1.1 on both sides of
// zero.
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

// Bins are [left, right), the last one [left, right]; NaN and values outside are in none of them.
// min, max and the sums take all values, so that a NaN shows in them, as NumPy does it.
Histogram default_histogram(std::span<const float> values);
Histogram default_histogram(std::span<const double> values);

}  // namespace tbq
