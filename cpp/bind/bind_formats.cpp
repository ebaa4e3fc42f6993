// Binds the readers of other trackers' logs: they append events to an EventBuffer.

#include "bind/arrays.hpp"
#include "bind/bind.hpp"
#include "bind/gil.hpp"
#include "formats/columns.hpp"
#include "formats/csv_columns.hpp"
#include "formats/wandb.hpp"

namespace nb = nanobind;

namespace tbq {
namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> span_of(const Vector<T>& values) {
  return {values.data(), values.size()};
}

ScalarStyle style_of(bool exact) { return exact ? ScalarStyle::tensor_double : ScalarStyle::simple; }

nb::object read_wandb(WandbReader& self, nb::bytes data, uint64_t offset, size_t enough, EventBuffer& out) {
  const Bytes bytes(static_cast<const uint8_t*>(data.data()), data.size());
  const uint64_t position = self.walk().position();
  if (position < offset || position > offset + bytes.size())
    throw nb::value_error("want bytes from position on");
  std::optional<WandbReader::Other> other;
  {
    const Unlocked release;
    other = self.read(bytes, offset, enough, out);
  }
  if (!other) return nb::none();
  return nb::make_tuple(other->field, other->step, other->wall_time,
                        nb::bytes(other->message.data(), other->message.size()));
}

nb::list faults(WandbReader& self) {
  nb::list all;
  for (const WandbFault& fault : self.walk().faults()) {
    all.append(nb::make_tuple(fault.code, fault.offset, fault.length));
  }
  return all;
}

size_t read_csv(CsvReader& self, nb::bytes data) {
  const Bytes bytes(static_cast<const uint8_t*>(data.data()), data.size());
  const Unlocked release;
  return self.read(bytes);
}

// What was read of a column, which the reader forgets.
nb::tuple taken(CsvReader& self, size_t column) {
  CsvColumn read = std::exchange(self.columns().at(column), {});
  return nb::make_tuple(array_of(std::move(read.values)), array_of(std::move(read.present)),
                        array_of(std::move(read.kinds)), array_of(std::move(read.whole)), read.texts,
                        nb::bytes(read.first_text.data(), read.first_text.size()));
}

void add_columns(EventBuffer& out, const std::vector<std::string>& tags, Vector<int64_t> steps,
                 Vector<double> wall_times, const std::vector<Vector<double>>& values,
                 const std::vector<Vector<uint8_t>>& present, bool exact) {
  EventColumns columns;
  columns.steps = span_of(steps);
  columns.wall_times = span_of(wall_times);
  for (const auto& column : values) columns.values.push_back(span_of(column));
  for (const auto& column : present) columns.present.push_back(span_of(column));
  columns.tags.assign(tags.begin(), tags.end());
  if (!columns.is_rectangular()) throw nb::value_error("want columns of one length");
  const Unlocked release;
  append_columns(columns, style_of(exact), out);
}

void add_rows(EventBuffer& out, const std::vector<std::string>& tags, Vector<int32_t> codes,
              Vector<int64_t> steps, Vector<double> wall_times, Vector<double> values, bool exact) {
  Rows rows{{tags.begin(), tags.end()}, span_of(codes), span_of(steps), span_of(wall_times), span_of(values)};
  if (!rows.is_sound()) throw nb::value_error("want columns of one length, and codes of tags");
  const Unlocked release;
  append_rows(rows, style_of(exact), out);
}

}  // namespace

void bind_formats(nb::module_& m) {
  nb::class_<WandbReader>(m, "WandbReader", "Reads a `.wandb` file while it grows.")
      .def(nb::init<bool>(), nb::arg("exact") = true)
      .def("read", &read_wandb, nb::arg("data"), nb::arg("offset"), nb::arg("enough"), nb::arg("out"),
           nb::sig("def read(self, data: bytes, offset: int, enough: int, out: EventBuffer) -> "
                   "tuple[int, int, float, bytes] | None"),
           "Appends events with the numbers of complete records to `out`, until a record is for the caller: "
           "(field, step, wall time, message).")
      .def_prop_ro(
          "position", [](WandbReader& self) { return self.walk().position(); },
          "Where the first record begins that was not read.")
      .def("faults", &faults, nb::sig("def faults(self) -> list[tuple[str, int, int]]"),
           "Code, offset and length of the damage so far.");
  nb::class_<CsvReader>(m, "CsvReader", "Reads rows of a CSV file as columns of numbers.")
      .def(nb::init<size_t, const std::vector<size_t>&>(), nb::arg("columns"), nb::arg("exact"))
      .def("read", &read_csv, nb::arg("data"), nb::sig("def read(self, data: bytes) -> int"),
           "Reads complete rows; returns how many bytes they have.")
      .def("take", &taken, nb::arg("column"),
           nb::sig("def take(self, column: int) -> tuple[numpy.typing.NDArray[numpy.float64], "
                   "numpy.typing.NDArray[numpy.uint8], numpy.typing.NDArray[numpy.uint8], "
                   "numpy.typing.NDArray[numpy.int64], int, bytes]"),
           "The values of a column, 1 for each that is a number; if it is exact, what each cell is (0 blank, "
           "1 whole, 2 another number, 3 text) and the whole numbers; how many texts there are, and the "
           "first.")
      .def_prop_ro("bad_lines", &CsvReader::bad_lines, "How many lines had another number of cells.");
  m.def("add_columns", &add_columns, nb::arg("out"), nb::arg("tags"), nb::arg("steps"), nb::arg("wall_times"),
        nb::arg("values"), nb::arg("present"), nb::arg("exact") = true,
        "Append one event per row, with the values that are present; if not `exact`, as float32.");
  m.def("add_rows", &add_rows, nb::arg("out"), nb::arg("tags"), nb::arg("codes"), nb::arg("steps"),
        nb::arg("wall_times"), nb::arg("values"), nb::arg("exact") = true,
        "Append one event per value; `codes` are indices of `tags`.");
}

}  // namespace tbq
