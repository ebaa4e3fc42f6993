// Binds to Python the smoothing and thinning of curves, for all series of a scalar table in one call.

#include "bind/bind.hpp"
#include "bind/gil.hpp"
#include "tables/curve.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tbq {
namespace {

template <class T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Calls `work(begin, count)` for each series; `starts` holds the first row of each.
template <class Work>
void each_series(const Array<const int64_t>& starts, size_t rows, Work work) {
  const int64_t* first = starts.data();
  const size_t series = starts.shape(0);
  if (rows > 0 && (series == 0 || first[0] != 0))
    throw nb::value_error("starts: the first series must start at row 0");
  for (size_t i = 0; i < series; ++i) {
    const int64_t end = i + 1 < series ? first[i + 1] : static_cast<int64_t>(rows);
    if (first[i] < 0 || first[i] > end || end > static_cast<int64_t>(rows)) {
      throw nb::value_error("starts: must ascend, up to the number of rows");
    }
  }
  const Unlocked free;
  for (size_t i = 0; i < series; ++i) {
    const size_t begin = static_cast<size_t>(first[i]);
    work(begin, (i + 1 < series ? static_cast<size_t>(first[i + 1]) : rows) - begin);
  }
}

void smooth(Array<const double> values, Array<const int64_t> starts, double weight, Array<double> out) {
  if (out.shape(0) != values.shape(0)) throw nb::value_error("out: must be as long as values");
  if (!(weight >= 0 && weight <= 1)) throw nb::value_error("weight: must be 0 to 1");
  each_series(starts, values.shape(0), [&](size_t begin, size_t count) {
    smooth_curve(values.data() + begin, count, weight, out.data() + begin);
  });
}

void downsample(Array<const int64_t> steps, Array<const double> values, Array<const int64_t> starts,
                size_t points, bool triangles, Array<uint8_t> keep) {
  const size_t rows = values.shape(0);
  if (steps.shape(0) != rows || keep.shape(0) != rows)
    throw nb::value_error("steps, values, keep: must have the same length");
  each_series(starts, rows, [&](size_t begin, size_t count) {
    if (triangles) {
      keep_triangles(steps.data() + begin, values.data() + begin, count, points, keep.data() + begin);
    } else {
      keep_extremes(values.data() + begin, count, points, keep.data() + begin);
    }
  });
}

}  // namespace

void bind_curve(nb::module_& m) {
  m.def("smooth", &smooth, "values"_a, "starts"_a, "weight"_a, "out"_a,
        nb::sig("def smooth(values: object, starts: object, weight: float, out: object) -> None"),
        "Smooth each series as TensorBoard does, into out.");
  m.def("downsample", &downsample, "steps"_a, "values"_a, "starts"_a, "points"_a, "triangles"_a, "keep"_a,
        nb::sig("def downsample(steps: object, values: object, starts: object, points: int, triangles: bool, "
                "keep: object) -> None"),
        "Mark in keep at most so many points of each series: by largest triangles, or by least and largest "
        "values.");
}

}  // namespace tbq
