// Finds a value's bin by the top bits of its double: they select a starting edge, and at most two comparisons
// end the search.
#include "write/histogram.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>

namespace tbq {
namespace {

// Positive edges, ascending.
const std::vector<double>& positive_edges() {
  // Never destroyed, like the other statics of this file: a writing thread may outlive every static.
  static const auto* edges = new std::vector<double>([] {
    std::vector<double> all;
    for (double edge = 1e-12; edge < 1e20; edge *= 1.1) all.push_back(edge);
    return all;
  }());
  return *edges;
}

// Positive doubles have the same order as their bits, so comparisons use integers.
constexpr uint64_t bits_of(double value) { return std::bit_cast<uint64_t>(value); }

// A cell is a sign, an exponent and eight mantissa bits: so narrow that few cells contain an edge.
constexpr int kCellShift = 52 - 8;
constexpr size_t kCells = size_t{1} << (64 - kCellShift);

struct Cells {
  // 1 for a cell that contains an edge, or lies outside all edges: its values must be examined one by one.
  std::vector<uint8_t> mixed = std::vector<uint8_t>(kCells, 1);
  uint64_t first;               // the cell of the first positive edge
  std::vector<uint16_t> below;  // from that cell on, the number of positive edges below each cell
  struct Plain {
    uint32_t cell;
    uint32_t bin;
  };
  std::vector<Plain> plain;  // the cells that are not mixed, each entirely in one bin

  Cells() {
    const auto& edges = positive_edges();
    first = bits_of(edges.front()) >> kCellShift;
    const uint64_t last = bits_of(edges.back()) >> kCellShift;
    size_t edge = 0;  // the first edge that is not below the cell; a cell contains at most one
    for (uint64_t cell = first; cell <= last; ++cell) {
      below.push_back(static_cast<uint16_t>(edge));
      if (edge < edges.size() && bits_of(edges[edge]) >> kCellShift == cell) {
        ++edge;
        continue;
      }
      const auto start = std::bit_cast<double>(cell << kCellShift);
      for (const uint64_t sign : {uint64_t{0}, uint64_t{kCells / 2}}) {
        mixed[cell | sign] = 0;
        const int64_t bin = bin_of(sign == 0 ? start : -start);
        plain.push_back({static_cast<uint32_t>(cell | sign), static_cast<uint32_t>(bin)});
      }
    }
  }

  // The bin of any value, or -1 if it is in no bin.
  int64_t bin_of(double value) const {
    const auto& edges = positive_edges();
    const auto half = static_cast<int64_t>(edges.size());
    const double magnitude = std::fabs(value);
    if (magnitude < edges.front()) return value < 0 ? half - 1 : half;
    if (!(magnitude <= edges.back())) return -1;  // outside, or NaN
    const size_t edge = below[(bits_of(magnitude) >> kCellShift) - first];
    const double next = edge < edges.size() ? edges[edge] : std::numeric_limits<double>::infinity();
    const auto passed = static_cast<int64_t>(edge);
    if (value < 0) return half - 1 - (passed + (next < magnitude ? 1 : 0));
    return half + std::min(passed + (next <= magnitude ? 1 : 0), half - 1);  // the last bin is closed
  }
};

// Sums and extremes in eight lanes, in two loops over local arrays that compilers can vectorize.
template <class T>
struct Moments {
  static constexpr size_t kWide = 8;
  double sum = 0;
  double square = 0;
  T low = std::numeric_limits<T>::infinity();
  T high = -std::numeric_limits<T>::infinity();

  void add(std::span<const T> values) {
    const T* value = values.data();
    const size_t in_lanes = values.size() - values.size() % kWide;
    double sums[kWide] = {};
    double squares[kWide] = {};
    for (size_t i = 0; i < in_lanes; i += kWide) {
      for (size_t lane = 0; lane < kWide; ++lane) {
        const auto number = static_cast<double>(value[i + lane]);
        sums[lane] += number;
        squares[lane] += number * number;
      }
    }
    T lows[kWide];
    T highs[kWide];
    std::fill_n(lows, kWide, low);
    std::fill_n(highs, kWide, high);
    for (size_t i = 0; i < in_lanes; i += kWide) {
      for (size_t lane = 0; lane < kWide; ++lane) {
        const T number = value[i + lane];
        lows[lane] = number < lows[lane] ? number : lows[lane];
        highs[lane] = number > highs[lane] ? number : highs[lane];
      }
    }
    for (size_t i = in_lanes; i < values.size(); ++i) {
      const auto number = static_cast<double>(value[i]);
      sums[0] += number;
      squares[0] += number * number;
      lows[0] = value[i] < lows[0] ? value[i] : lows[0];
      highs[0] = value[i] > highs[0] ? value[i] : highs[0];
    }
    for (size_t lane = 0; lane < kWide; ++lane) {
      sum += sums[lane];
      square += squares[lane];
      low = std::min(low, lows[lane]);
      high = std::max(high, highs[lane]);
    }
  }
};

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

template <class T>
Histogram count(std::span<const T> values) {
  constexpr size_t kBlock = 2048;  // values that stay in the cache between the passes
  static const Cells& cells = *new Cells;
  const uint8_t* mixed = cells.mixed.data();
  // The system zeroes pages when they are touched, and few of them are.
  const std::unique_ptr<uint32_t[], Free> table(
      static_cast<uint32_t*>(std::calloc(kCells, sizeof(uint32_t))));
  if (table == nullptr) throw std::bad_alloc();
  uint32_t* in_cell = table.get();
  Histogram histogram;
  histogram.counts.assign(2 * positive_edges().size(), 0);
  Moments<T> moments;
  std::array<double, kBlock> rest;
  const auto settle = [&] {
    for (const auto& [cell, bin] : cells.plain) {
      histogram.counts[bin] += in_cell[cell];
      in_cell[cell] = 0;
    }
  };
  for (size_t start = 0; start < values.size(); start += kBlock) {
    const auto block = values.subspan(start, std::min(kBlock, values.size() - start));
    moments.add(block);
    size_t left = 0;
    for (const T value : block) {
      const auto number = static_cast<double>(value);
      const uint64_t cell = bits_of(number) >> kCellShift;
      ++in_cell[cell];
      rest[left] = number;
      left += mixed[cell];
    }
    for (size_t i = 0; i < left; ++i) {
      const int64_t bin = cells.bin_of(rest[i]);
      if (bin >= 0) ++histogram.counts[static_cast<size_t>(bin)];
    }
    if ((start / kBlock + 1) % (size_t{1} << 20) == 0) settle();  // long before 32 bits overflow
  }
  settle();
  histogram.sum = moments.sum;
  histogram.sum_squares = moments.square;
  histogram.min = static_cast<double>(moments.low);
  histogram.max = static_cast<double>(moments.high);
  if (std::isnan(histogram.sum_squares)) histogram.min = histogram.max = histogram.sum_squares;
  return histogram;
}

}  // namespace

const std::vector<double>& default_bin_edges() {
  static const auto* edges = new std::vector<double>([] {
    const auto& positive = positive_edges();
    std::vector<double> all;
    all.reserve(2 * positive.size() + 1);
    for (auto edge = positive.rbegin(); edge != positive.rend(); ++edge) all.push_back(-*edge);
    all.push_back(0);
    all.insert(all.end(), positive.begin(), positive.end());
    return all;
  }());
  return *edges;
}

Histogram default_histogram(std::span<const float> values) { return count(values); }
Histogram default_histogram(std::span<const double> values) { return count(values); }

}  // namespace tbq
