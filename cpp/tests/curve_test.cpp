// Tests smoothing and thinning of curves.
#include "tables/curve.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "tests/check.hpp"

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<double> smoothed(const std::vector<double>& values, double weight) {
  std::vector<double> out(values.size());
  tbq::smooth_curve(values.data(), values.size(), weight, out.data());
  return out;
}

size_t kept(const std::vector<uint8_t>& keep) {
  return static_cast<size_t>(std::accumulate(keep.begin(), keep.end(), 0));
}

}  // namespace

TEST(smoothing_is_debiased) {
  const auto out = smoothed({1, 2, 3}, 0.5);
  CHECK(std::abs(out[0] - 1) < 1e-15);
  CHECK(std::abs(out[1] - (0.25 + 1) / 0.75) < 1e-15);
  CHECK(std::abs(out[2] - (0.125 + 0.5 + 1.5) / 0.875) < 1e-15);
}

TEST(smoothing_keeps_values_that_are_not_finite) {
  const auto out = smoothed({1, kNan, kInf, 3}, 0.5);
  CHECK(std::isnan(out[1]));
  CHECK(out[2] == kInf);
  CHECK(std::abs(out[3] - (0.25 + 1.5) / 0.75) < 1e-15);
}

TEST(smoothing_leaves_a_constant_and_an_empty_curve) {
  CHECK((smoothed({5, 5, 5}, 1.0) == std::vector<double>{5, 5, 5}));
  CHECK(smoothed({}, 0.5).empty());
  CHECK((smoothed({1, 2}, 1.0) == std::vector<double>{0, 0}));
}

TEST(thinning_keeps_at_most_the_given_number) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    const size_t count = random() % 60;
    const size_t points = random() % 70;
    // Heap buffers of exact size, so that the sanitizer sees an access past the end.
    std::vector<int64_t> steps(count);
    std::vector<double> values(count);
    for (size_t i = 0; i < count; ++i) {
      steps[i] = static_cast<int64_t>(random());
      const auto pick = random() % 8;
      values[i] = pick == 0   ? kNan
                  : pick == 1 ? kInf
                  : pick == 2 ? 1e308
                              : static_cast<double>(random() % 100);
    }
    std::vector<uint8_t> triangles(count, 9);
    std::vector<uint8_t> extremes(count, 9);
    tbq::keep_triangles(steps.data(), values.data(), count, points, triangles.data());
    tbq::keep_extremes(values.data(), count, points, extremes.data());
    CHECK(kept(triangles) == std::min(count, points));
    CHECK(kept(extremes) <= std::min(count, points));
    CHECK(count == 0 || points == 0 || kept(extremes) > 0);
  }
}

TEST(extremes_are_kept) {
  std::vector<double> values(1000, 0.0);
  values[333] = 9;
  values[334] = -9;
  std::vector<uint8_t> keep(values.size());
  tbq::keep_extremes(values.data(), values.size(), 10, keep.data());
  CHECK(keep[333] && keep[334]);
  std::vector<int64_t> steps(values.size());
  std::iota(steps.begin(), steps.end(), 0);
  values[334] = 0;
  tbq::keep_triangles(steps.data(), values.data(), values.size(), 10, keep.data());
  CHECK(keep[333] && keep[0] && keep[999]);
}
