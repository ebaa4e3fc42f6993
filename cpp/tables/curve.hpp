// Works on one curve at a time: TensorBoard's smoothing, and thinning that keeps the shape.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tbq {

// Exponential moving average without the bias to zero at the start, as TensorBoard draws it. A value that is
// not finite stays unchanged and does not affect the others; a constant curve stays unchanged. 0 <= weight <=
// 1.
void smooth_curve(const double* values, size_t count, double weight, double* out);

// Marks in `keep` at most `points` of a curve by largest triangle three buckets, including the first and the
// last. A value that is not finite is kept only if its bucket has no finite value.
void keep_triangles(const int64_t* steps, const double* values, size_t count, size_t points, uint8_t* keep);

// Marks the smallest and the largest value of each of points / 2 stretches; with one point, the last.
void keep_extremes(const double* values, size_t count, size_t points, uint8_t* keep);

}  // namespace tbq
