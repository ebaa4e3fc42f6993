// Finds a value's bin by the top bits of its double: they pick a starting edge, and at most two comparisons
// end the search.
#include "tbq/histogram.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace tbq {
namespace {

// Positive edges, ascending.
const std::vector<double>& positive_edges() {
  static const std::vector<double> edges = [] {
    std::vector<double> all;
    for (double edge = 1e-12; edge < 1e20; edge *= 1.1) all.push_back(edge);
    return all;
  }();
  return edges;
}

// Exponent and the first six mantissa bits: 64 cells an octave, each at most a bin wide.
constexpr int kCellShift = 52 - 6;
constexpr uint64_t cell_of(double magnitude) { return std::bit_cast<uint64_t>(magnitude) >> kCellShift; }

// For each cell of magnitudes, how many edges lie below the cell.
struct Cells {
  uint64_t first;
  std::vector<uint16_t> below;

  Cells() {
    const auto& edges = positive_edges();
    first = cell_of(edges.front());
    const uint64_t last = cell_of(edges.back());
    for (uint64_t cell = first; cell <= last; ++cell) {
      const auto start = std::bit_cast<double>(cell << kCellShift);
      const auto at = std::lower_bound(edges.begin(), edges.end(), start);
      below.push_back(static_cast<uint16_t>(at - edges.begin()));
    }
  }
};

template <class T>
Histogram count(std::span<const T> values) {
  static const Cells cells;
  const auto& edges = positive_edges();
  const double* edge = edges.data();
  const size_t half = edges.size();
  const double smallest = edges.front();
  const double largest = edges.back();

  Histogram histogram;
  histogram.counts.assign(2 * half, 0);
  int64_t* counts = histogram.counts.data();
  std::array<double, 4> sums{};
  std::array<double, 4> squares{};
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  bool nan = false;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<double>(values[i]);
    sums[i & 3] += value;
    squares[i & 3] += value * value;
    low = std::min(low, value);
    high = std::max(high, value);
    const double magnitude = std::fabs(value);
    if (!(magnitude <= largest)) {  // out of range, or NaN
      nan = nan || value != value;
      continue;
    }
    if (magnitude < smallest) {
      ++counts[value < 0 ? half - 1 : half];
      continue;
    }
    size_t below = cells.below[cell_of(magnitude) - cells.first];
    if (value < 0) {
      while (below < half && edge[below] < magnitude) ++below;
      ++counts[half - 1 - std::min(below, half - 1)];
    } else {
      while (below < half && edge[below] <= magnitude) ++below;
      ++counts[half + std::min(below, half - 1)];
    }
  }
  histogram.sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  histogram.sum_squares = (squares[0] + squares[1]) + (squares[2] + squares[3]);
  const double none = std::numeric_limits<double>::quiet_NaN();
  histogram.min = nan ? none : low;
  histogram.max = nan ? none : high;
  return histogram;
}

}  // namespace

const std::vector<double>& default_bin_edges() {
  static const std::vector<double> edges = [] {
    const auto& positive = positive_edges();
    std::vector<double> all;
    all.reserve(2 * positive.size() + 1);
    for (auto edge = positive.rbegin(); edge != positive.rend(); ++edge) all.push_back(-*edge);
    all.push_back(0);
    all.insert(all.end(), positive.begin(), positive.end());
    return all;
  }();
  return edges;
}

Histogram default_histogram(std::span<const float> values) { return count(values); }
Histogram default_histogram(std::span<const double> values) { return count(values); }

}  // namespace tbq
