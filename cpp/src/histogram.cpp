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

// Positive doubles are ordered as their bits are, so all comparisons are of integers, without a branch.
constexpr uint64_t bits_of(double value) { return std::bit_cast<uint64_t>(value); }
constexpr uint64_t kMagnitude = ~uint64_t{0} >> 1;

// A cell is an exponent and four mantissa bits: at most 1.0625 wide, so it holds one edge at most.
constexpr int kCellShift = 52 - 4;

struct Cells {
  uint64_t lowest;              // the cell before the first edge's; all below count as it
  uint64_t highest;             // the cell after the last edge's; all above, infinity and NaN count as it
  std::vector<uint16_t> below;  // for each cell, how many edges lie below it
  std::vector<uint64_t> edges;  // the edges' bits, and one more that nothing reaches

  Cells() {
    for (const double edge : positive_edges()) edges.push_back(bits_of(edge));
    lowest = (edges.front() >> kCellShift) - 1;
    highest = (edges.back() >> kCellShift) + 1;
    for (uint64_t cell = lowest; cell <= highest; ++cell) {
      const auto at = std::lower_bound(edges.begin(), edges.end(), cell << kCellShift);
      below.push_back(static_cast<uint16_t>(at - edges.begin()));
    }
    edges.push_back(~uint64_t{0});
  }
};

constexpr size_t kLanes = 4;     // counters side by side, so that equal neighbours do not wait for each other
constexpr size_t kBlock = 2048;  // values that stay in the cache between the two passes over them

// Adds to sums, extremes and squares, in eight lanes that a compiler turns into vectors.
struct Moments {
  static constexpr size_t kWide = 8;
  std::array<double, kWide> sum{};
  std::array<double, kWide> square{};
  std::array<double, kWide> low;
  std::array<double, kWide> high;

  Moments() {
    low.fill(std::numeric_limits<double>::infinity());
    high.fill(-std::numeric_limits<double>::infinity());
  }
  void add(size_t lane, double value) {
    sum[lane] += value;
    square[lane] += value * value;
    low[lane] = value < low[lane] ? value : low[lane];
    high[lane] = value > high[lane] ? value : high[lane];
  }
  template <class T>
  void add(std::span<const T> values) {
    size_t i = 0;
    for (; i + kWide <= values.size(); i += kWide) {
      for (size_t lane = 0; lane < kWide; ++lane) add(lane, static_cast<double>(values[i + lane]));
    }
    for (; i < values.size(); ++i) add(0, static_cast<double>(values[i]));
  }
};

template <class T>
Histogram count(std::span<const T> values) {
  static const Cells cells;
  const size_t half = positive_edges().size();
  const uint16_t* below = cells.below.data();
  const uint64_t* edges = cells.edges.data();
  // Slots of one lane: how many edges a positive value has reached (0 to half), then the same of negative
  // ones.
  const size_t slots = 2 * (half + 1);
  std::vector<int64_t> lanes(kLanes * slots, 0);
  Moments moments;
  for (size_t start = 0; start < values.size(); start += kBlock) {
    const auto block = values.subspan(start, std::min(kBlock, values.size() - start));
    moments.add(block);
    for (size_t i = 0; i < block.size(); ++i) {
      const uint64_t bits = bits_of(static_cast<double>(block[i]));
      const uint64_t magnitude = bits & kMagnitude;
      const uint64_t negative = (bits >> 63) & static_cast<uint64_t>(magnitude != 0);
      // A negative value's bins are closed on the other side: an edge counts only when it is passed.
      const uint64_t reached = magnitude - negative;
      const uint64_t cell = std::clamp(reached >> kCellShift, cells.lowest, cells.highest) - cells.lowest;
      const size_t base = below[cell];
      const size_t edge = base + static_cast<size_t>(edges[base] <= reached);
      ++lanes[(i % kLanes) * slots + negative * (half + 1) + edge];
    }
  }
  for (size_t slot = 0; slot < slots; ++slot) {
    for (size_t lane = 1; lane < kLanes; ++lane) lanes[slot] += lanes[lane * slots + slot];
  }

  Histogram histogram;
  histogram.counts.resize(2 * half);
  for (size_t edge = 0; edge < half; ++edge) {
    histogram.counts[half + edge] = lanes[edge];
    histogram.counts[half - 1 - edge] = lanes[half + 1 + edge];
  }
  if (lanes[half] > 0) {  // at or past the last edge, or NaN: the last bin is closed
    const double last = positive_edges().back();
    for (const T value : values) histogram.counts.back() += static_cast<double>(value) == last ? 1 : 0;
  }
  for (size_t lane = 0; lane < Moments::kWide; ++lane) {
    histogram.sum += moments.sum[lane];
    histogram.sum_squares += moments.square[lane];
  }
  histogram.min = *std::min_element(moments.low.begin(), moments.low.end());
  histogram.max = *std::max_element(moments.high.begin(), moments.high.end());
  if (std::isnan(histogram.sum_squares)) histogram.min = histogram.max = histogram.sum_squares;
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
