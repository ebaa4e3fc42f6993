// Binds the writer of array elements for tbq.results to Python; it runs without the GIL.

#include <limits>

#include "bind/bind.hpp"
#include "bind/gil.hpp"
#include "text/elements.hpp"

namespace nb = nanobind;

namespace tbq {
namespace {

using Room = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Values = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
size_t write(const ElementLines& self, uint64_t start, Values<T> values, Room room) {
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (start > kMost || values.shape(0) > kMost - start)
    throw nb::value_error("elements past the largest index");
  if (room.shape(0) / self.longest() < values.shape(0)) throw nb::value_error("no room for the lines");
  const Unlocked release;
  char* const to = reinterpret_cast<char*>(room.data());
  const std::span<const T> all(values.data(), values.shape(0));
  return static_cast<size_t>(self.write(to, start, all) - to);
}

}  // namespace

void bind_elements(nb::module_& m) {
  const char* doc = "Write the lines of elements from `start` on to `room`; returns their size.";
  nb::class_<ElementLines>(m, "ElementLines", "CSV lines `prefix index separator value` of one array.")
      .def(nb::init<std::string_view, char>(), nb::arg("prefix"), nb::arg("separator"))
      .def_prop_ro("longest", &ElementLines::longest, "The most bytes that a line takes.")
      .def("write", &write<float>, nb::arg("start"), nb::arg("values"), nb::arg("room"), doc)
      .def("write", &write<double>, nb::arg("start"), nb::arg("values"), nb::arg("room"), doc)
      .def("write", &write<int64_t>, nb::arg("start"), nb::arg("values"), nb::arg("room"), doc)
      .def("write", &write<uint64_t>, nb::arg("start"), nb::arg("values"), nb::arg("room"), doc);
}

}  // namespace tbq
