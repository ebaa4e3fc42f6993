// One curve at a time: TensorBoard's smoothing, and fewer points that keep its shape.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tbq {

// Exponential moving average without the pull to zero at the start, as TensorBoard draws it: a value that is
// not finite stays as it is and counts for nothing, a constant curve stays as it is. 0 <= weight <= 1.
void smooth_curve(const double* values, size_t count, double weight, double* out);

// Marks in `keep` at most `points` of a curve by largest triangle three buckets; the first and the last stay.
// A value that is not finite is kept only if its bucket has no other.
void keep_triangles(const int64_t* steps, const double* values, size_t count, size_t points, uint8_t* keep);

// Marks the smallest and the largest value of each of points / 2 stretches; with one point, the last.
void keep_extremes(const double* values, size_t count, size_t points, uint8_t* keep);

}  // namespace tbq
