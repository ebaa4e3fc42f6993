// Elements of arrays as text for tbq.results: buffers out, the GIL released while they are filled.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <stdexcept>

#include "bind/bind.hpp"
#include "text/elements.hpp"

namespace nb = nanobind;

namespace tbq {
namespace {

using Buffer = nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>>;
using Room = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Values = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// With the shape, to check what is asked of it.
struct Lines {
  Lines(std::string_view prefix, const std::vector<uint64_t>& of, char separator)
      : shape(of), lines(prefix, of, separator) {}

  std::vector<uint64_t> shape;
  ElementLines lines;
};

Buffer owned(std::unique_ptr<char[]> data, size_t size) {
  char* const raw = data.release();
  nb::capsule owner(raw, [](void* p) noexcept { delete[] static_cast<char*>(p); });
  return Buffer(reinterpret_cast<uint8_t*>(raw), {size}, owner);
}

// Elements start … start + count must be there: the core relies on it.
void check(const std::vector<uint64_t>& shape, uint64_t start, uint64_t count) {
  uint64_t total = 1;
  for (const uint64_t size : shape) {
    if (size != 0 && total > std::numeric_limits<uint64_t>::max() / size)
      throw nb::value_error("shape too large");
    total *= size;
  }
  if (start > total || count > total - start) throw nb::value_error("elements outside of the shape");
}

template <class T>
size_t lines(const Lines& self, uint64_t start, Values<T> values, Room room) {
  check(self.shape, start, values.shape(0));
  if (room.shape(0) / self.lines.longest() < values.shape(0)) throw nb::value_error("no room for the lines");
  nb::gil_scoped_release release;
  char* const to = reinterpret_cast<char*>(room.data());
  const std::span<const T> all(values.data(), values.shape(0));
  return static_cast<size_t>(self.lines.write(to, start, all) - to);
}

}  // namespace

void bind_elements(nb::module_& m) {
  m.def(
      "index_text",
      [](const std::vector<uint64_t>& shape, uint64_t start, uint64_t count) {
        check(shape, start, count);
        if (count >=
            static_cast<uint64_t>(std::numeric_limits<int32_t>::max()) / (IndexText::longest(shape) + 1)) {
          throw nb::value_error("too many elements for one call");
        }
        std::unique_ptr<char[]> offsets;
        Text text;
        {
          nb::gil_scoped_release release;
          offsets = std::make_unique_for_overwrite<char[]>((count + 1) * sizeof(int32_t));
          text = index_text(shape, start, count, reinterpret_cast<int32_t*>(offsets.get()));
        }
        return std::pair(owned(std::move(offsets), (count + 1) * sizeof(int32_t)),
                         owned(std::move(text.data), text.size));
      },
      nb::arg("shape"), nb::arg("start"), nb::arg("count"),
      "Offsets (int32) and text of the indices `i,j,k` of elements start … start + count.");
  m.def(
      "index_page",
      [](const std::vector<std::tuple<std::vector<uint64_t>, uint64_t, uint64_t>>& parts) {
        std::vector<Run> runs;
        for (const auto& [shape, start, count] : parts) {
          check(shape, start, count);
          runs.push_back({shape, start, count});
        }
        std::vector<uint8_t> page;
        {
          nb::gil_scoped_release release;
          page = index_page(runs);
        }
        return nb::bytes(page.data(), page.size());
      },
      nb::arg("runs"), "A DELTA_BYTE_ARRAY page of the indices of runs (shape, start, count) of elements.");
  const char* doc = "Write the lines of elements from `start` on to `room`; returns their size.";
  nb::class_<Lines>(m, "ElementLines", "CSV lines `prefix index separator value` of one array.")
      .def(nb::init<std::string_view, const std::vector<uint64_t>&, char>(), nb::arg("prefix"),
           nb::arg("shape"), nb::arg("separator"))
      .def_prop_ro(
          "longest", [](const Lines& self) { return self.lines.longest(); },
          "The bytes that a line may take.")
      .def("write", &lines<float>, nb::arg("start"), nb::arg("values"), nb::arg("room"), doc)
      .def("write", &lines<double>, nb::arg("start"), nb::arg("values"), nb::arg("room"), doc)
      .def("write", &lines<int64_t>, nb::arg("start"), nb::arg("values"), nb::arg("room"), doc)
      .def("write", &lines<uint64_t>, nb::arg("start"), nb::arg("values"), nb::arg("room"), doc);
}

}  // namespace tbq
