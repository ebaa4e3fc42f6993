// Smooths and thins curves. Values that are not finite pass through and do not affect the others.
#include "tables/curve.hpp"

#include <algorithm>
#include <cmath>

namespace tbq {

void smooth_curve(const double* values, size_t count, double weight, double* out) {
  if (std::all_of(values, values + count, [values](double value) { return value == values[0]; })) {
    std::copy_n(values, count, out);
    return;
  }
  double last = 0;
  double power = 1;  // weight to the power of the values so far
  double finite = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) {
      out[i] = values[i];
      continue;
    }
    last = last * weight + (1 - weight) * values[i];
    if (power > 1e-17) power = std::pow(weight, ++finite);  // below that, 1 - power is 1
    out[i] = weight == 1 ? last : last / (1 - power);
  }
}

void keep_triangles(const int64_t* steps, const double* values, size_t count, size_t points, uint8_t* keep) {
  if (count <= points) {
    std::fill_n(keep, count, uint8_t{1});
    return;
  }
  std::fill_n(keep, count, uint8_t{0});
  if (points == 0) return;
  keep[count - 1] = 1;
  if (points == 1) return;
  keep[0] = 1;
  if (points == 2) return;
  const double width = static_cast<double>(count - 2) / static_cast<double>(points - 2);
  const auto edge = [&](size_t bucket) {
    return std::min(static_cast<size_t>(static_cast<double>(bucket) * width) + 1, count - 1);
  };
  double x = static_cast<double>(steps[0]);
  double y = std::isfinite(values[0]) ? values[0] : 0;
  for (size_t bucket = 0; bucket + 2 < points; ++bucket) {
    const size_t begin = edge(bucket);
    const size_t end = edge(bucket + 1);
    const size_t next = bucket + 3 < points ? edge(bucket + 2) : count;
    double next_x = 0;
    double next_y = 0;
    double finite = 0;
    for (size_t i = end; i < next; ++i) {
      if (!std::isfinite(values[i])) continue;
      next_x += static_cast<double>(steps[i]);
      next_y += values[i];
      ++finite;
    }
    next_x = finite > 0 ? next_x / finite : static_cast<double>(steps[end]);
    next_y = finite > 0 ? next_y / finite : y;
    size_t best = begin;
    double largest = -1;
    for (size_t i = begin; i < end; ++i) {
      if (!std::isfinite(values[i])) continue;
      const double area =
          std::abs((x - next_x) * (values[i] - y) - (x - static_cast<double>(steps[i])) * (next_y - y));
      if (area > largest || largest < 0) {  // the second test: an area may be NaN if products overflow
        largest = area >= 0 ? area : 0;
        best = i;
      }
    }
    keep[best] = 1;
    if (std::isfinite(values[best])) {
      x = static_cast<double>(steps[best]);
      y = values[best];
    }
  }
}

void keep_extremes(const double* values, size_t count, size_t points, uint8_t* keep) {
  if (count <= points) {
    std::fill_n(keep, count, uint8_t{1});
    return;
  }
  std::fill_n(keep, count, uint8_t{0});
  if (points < 2) {
    keep[count - 1] = points == 1;
    return;
  }
  const size_t stretches = points / 2;
  const size_t per_stretch = count / stretches;
  const size_t longer = count % stretches;  // this many stretches, from the first on, have one value more
  size_t begin = 0;
  for (size_t stretch = 0; stretch < stretches; ++stretch) {
    const size_t end = begin + per_stretch + (stretch < longer ? 1 : 0);
    size_t low = count;
    size_t high = count;
    for (size_t i = begin; i < end; ++i) {
      if (!std::isfinite(values[i])) continue;
      if (low == count || values[i] < values[low]) low = i;
      if (high == count || values[i] > values[high]) high = i;
    }
    if (low == count) low = high = begin;
    keep[low] = keep[high] = 1;
    begin = end;
  }
}

}  // namespace tbq
