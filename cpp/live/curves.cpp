// Reduces curves to pixel columns.
#include "live/curves.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "decode/crew.hpp"
#include "tables/curve.hpp"

namespace tbq {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

template <class Call>
void each_x(const Curve& curve, Axis axis, const Points& points, Call&& call) {
  switch (axis) {
    case Axis::step:
      for (size_t i = 0; i < points.count; ++i) call(i, static_cast<double>(points.steps[i]));
      break;
    case Axis::relative:
      for (size_t i = 0; i < points.count; ++i) call(i, points.wall_times[i] - curve.began);
      break;
    case Axis::wall:
      for (size_t i = 0; i < points.count; ++i) call(i, points.wall_times[i]);
      break;
  }
}

struct Extent {
  double low = HUGE_VAL;
  double high = -HUGE_VAL;
};

Extent extent_of(const Curve& curve, Axis axis) {
  Extent range;
  for (const Points& points : curve.points) {
    each_x(curve, axis, points, [&](size_t, double x) {
      if (!std::isfinite(x)) return;
      range.low = std::min(range.low, x);
      range.high = std::max(range.high, x);
    });
  }
  return range;
}

// The columns of an axis.
class Grid {
 public:
  Grid(double low, double high, size_t width) : width_(width) {
    const auto count = static_cast<double>(width);
    if (!(high > low)) return;
    // The distance of the two, or the number of columns per unit, is not finite.
    if (std::isinf(high - low)) {
      unit_ = 0x1p-2;
    } else if (std::isinf(count / (high - low))) {
      unit_ = 0x1p200;
    }
    low_ = low * unit_;
    scale_ = count / (high * unit_ - low_);
  }
  // The column of `x`, which must not be below the axis.
  size_t column(double x) const {
    const double place = (x * unit_ - low_) * scale_;
    return place < static_cast<double>(width_) ? static_cast<size_t>(place) : width_ - 1;
  }

 private:
  size_t width_;
  double unit_ = 1;  // a power of two, so that nothing is rounded
  double low_ = 0;
  double scale_ = 0;
};

void fill(const Curve& curve, const CurveOptions& options, size_t index, Columns& out) {
  const size_t base = index * out.width;
  const Grid grid(out.low, out.high, out.width);
  std::vector<double> smoothed;
  size_t total = 0;
  if (options.smooth > 0) {
    for (const Points& points : curve.points) total += points.count;
    smoothed.reserve(total);
    for (const Points& points : curve.points) {
      smoothed.insert(smoothed.end(), points.values, points.values + points.count);
    }
    smooth_curve(smoothed.data(), total, options.smooth, smoothed.data());
  }
  double* const first = out.first.data() + base;
  double* const last = out.last.data() + base;
  double* const least = out.least.data() + base;
  double* const largest = out.largest.data() + base;
  // Most points are in the same column as the point before, so that column's numbers stay in local variables.
  size_t at = out.width;
  double begun = 0, ended = 0, low = 0, high = 0;
  const auto put = [&] {
    if (at == out.width) return;
    if (std::isnan(first[at])) {
      first[at] = begun;
      least[at] = low;
      largest[at] = high;
    } else {
      least[at] = std::min(least[at], low);
      largest[at] = std::max(largest[at], high);
    }
    last[at] = ended;
  };
  size_t before = 0;
  for (const Points& points : curve.points) {
    const double* values = options.smooth > 0 ? smoothed.data() + before : points.values;
    before += points.count;
    each_x(curve, options.axis, points, [&](size_t i, double x) {
      if (!(x >= out.low && x <= out.high)) return;
      const double value = values[i];
      if (!std::isfinite(value)) {
        if (std::isnan(out.broken[index])) out.broken[index] = x;
        return;
      }
      const size_t column = grid.column(x);
      if (column != at) {
        put();
        at = column;
        begun = low = high = value;
      } else {
        low = std::min(low, value);
        high = std::max(high, value);
      }
      ended = value;
    });
  }
  put();
}

}  // namespace

Columns columns_of(const std::vector<Curve>& curves, const CurveOptions& options) {
  Columns out;
  out.width = std::max<size_t>(options.width, 1);
  Extent all{options.low, options.high};
  if (!options.ranged) {
    std::vector<Extent> ranges(curves.size());
    Crew().run(
        curves.size(), options.threads,
        [&](unsigned, size_t i) { ranges[i] = extent_of(curves[i], options.axis); }, nullptr);
    all = {};
    for (const Extent& range : ranges) {
      all.low = std::min(all.low, range.low);
      all.high = std::max(all.high, range.high);
    }
    if (all.low > all.high) all = {0, 0};
  }
  out.low = all.low;
  out.high = all.high;
  for (auto* column : {&out.first, &out.last, &out.least, &out.largest}) {
    column->assign(curves.size() * out.width, kNone);
  }
  out.broken.assign(curves.size(), kNone);
  Crew().run(
      curves.size(), options.threads, [&](unsigned, size_t i) { fill(curves[i], options, i, out); }, nullptr);
  return out;
}

}  // namespace tbq
