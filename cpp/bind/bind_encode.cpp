// Encodes Python objects as event records. Plain cases (str, float, int, None) end here. Anything else goes
// back to Python with kConvert, which converts it or raises an error. The GIL is always held together with
// the buffer's mutex, so a fork never finds the mutex locked.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

#include "bind/bind.hpp"
#include "bind/gil.hpp"
#include "event/dtype.hpp"
#include "record/framing.hpp"
#include "write/event_buffer.hpp"
#include "write/exit_marks.hpp"
#include "write/histogram.hpp"
#include "write/last_step.hpp"

namespace nb = nanobind;

namespace tbq {
namespace {

constexpr uint32_t kConvert = 16;  // nothing was appended: an argument needs converting
constexpr int kExact = 3;          // a style: int64 for an int, float64 for a float

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

bool text_of(nb::handle object, std::string_view& out) {
  if (!PyUnicode_Check(object.ptr())) return false;
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (data == nullptr) {
    PyErr_Clear();
    return false;
  }
  out = {data, static_cast<size_t>(size)};
  return true;
}

bool int64_of(nb::handle object, int64_t& out) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  if (value == -1 && PyErr_Occurred() != nullptr) PyErr_Clear();
  out = value;
  return overflow == 0;
}

bool stamp_of(nb::handle step, nb::handle wall_time, Stamp& out) {
  if (!step.is_none()) {
    if (!PyLong_Check(step.ptr()) || !int64_of(step, out.step)) return false;
    out.has_step = true;
  }
  if (wall_time.is_none()) {
    out.wall_time = now();
    return true;
  }
  if (!PyFloat_Check(wall_time.ptr())) return false;
  out.wall_time = PyFloat_AsDouble(wall_time.ptr());
  return true;
}

bool scalar_of(nb::handle tag, nb::handle value, int style, Scalar& out) {
  if (!text_of(tag, out.tag) || out.tag.empty()) return false;
  out.style = style == kExact ? ScalarStyle::tensor_double : static_cast<ScalarStyle>(style);
  if (PyFloat_Check(value.ptr())) {
    out.real = PyFloat_AsDouble(value.ptr());
    return true;
  }
  if (!PyLong_Check(value.ptr())) return false;
  if (style == kExact) {
    out.style = ScalarStyle::tensor_int64;
    return int64_of(value, out.integer);
  }
  out.real = PyLong_AsDouble(value.ptr());
  if (out.real == -1.0 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return false;
  }
  return true;
}

std::string_view view(nb::bytes bytes) { return {static_cast<const char*>(bytes.data()), bytes.size()}; }
Bytes span_of(nb::bytes bytes) { return {static_cast<const uint8_t*>(bytes.data()), bytes.size()}; }
nb::bytes to_bytes(const std::vector<uint8_t>& data) { return nb::bytes(data.data(), data.size()); }

uint32_t add_scalar(EventBuffer& buffer, nb::handle tag, nb::handle value, nb::handle step,
                    nb::handle wall_time, int style, nb::bytes metadata) {
  Scalar scalar;
  Stamp stamp;
  if (!scalar_of(tag, value, style, scalar) || !stamp_of(step, wall_time, stamp)) return kConvert;
  scalar.metadata = view(metadata);
  return buffer.scalar(scalar, stamp);
}

uint32_t add_scalars(EventBuffer& buffer, nb::dict metrics, nb::handle step, nb::handle wall_time,
                     int style) {
  constexpr size_t kFew = 32;
  Scalar few[kFew];
  std::vector<Scalar> many;
  const size_t count = nb::len(metrics);
  Scalar* scalars = few;
  if (count > kFew) {
    many.resize(count);
    scalars = many.data();
  }
  Stamp stamp;
  if (!stamp_of(step, wall_time, stamp)) return kConvert;
  size_t used = 0;
  for (auto [tag, value] : metrics) {
    if (used == count || !scalar_of(tag, value, style, scalars[used])) return kConvert;
    ++used;
  }
  if (used == 0) return kOk;
  return buffer.scalars({scalars, used}, stamp);
}

// Returns all pending records as one bytes object, copied without the GIL, so that a large backlog blocks no
// other thread.
nb::object take(EventBuffer& buffer) {
  Chunk chunk = buffer.swap_out();
  PyObject* bytes = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(chunk.size));
  if (bytes == nullptr) {
    nb::python_error no_memory;
    buffer.put_back(std::move(chunk));
    throw no_memory;
  }
  nb::object owner = nb::steal(bytes);
  char* to = PyBytes_AsString(bytes);
  const size_t events = chunk.events;
  if (chunk.size > 0) {
    const Unlocked release;
    std::memcpy(to, chunk.data.get(), chunk.size);
  }
  buffer.give_back(std::move(chunk));
  return nb::make_tuple(owner, events);
}

nb::list notes(EventBuffer& buffer) {
  static constexpr const char* kNames[] = {"backwards", "stuck", "behind", "dropped"};
  nb::list all;
  for (const Note& note : buffer.notes()) {
    all.append(
        nb::make_tuple(kNames[note.kind], nb::str(note.tag.data(), note.tag.size()), note.before, note.step));
  }
  return all;
}

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::tuple histogram(Vector<T> values) {
  Histogram result;
  {
    const Unlocked release;
    result = default_histogram(std::span<const T>(values.data(), values.size()));
  }
  const auto& counts = result.counts;
  return nb::make_tuple(result.min, result.max, result.sum, result.sum_squares,
                        nb::bytes(counts.data(), counts.size() * sizeof(int64_t)));
}

}  // namespace

void bind_encode(nb::module_& m) {
  // A writer may live until the interpreter ends; nanobind would print a warning about it.
  nb::set_leak_warnings(false);
  nb::class_<EventBuffer>(m, "EventBuffer", "Event records to be written.")
      .def(
          "__init__",
          [](EventBuffer* self, size_t full_bytes, size_t full_events, size_t max_bytes, bool watch_steps) {
            new (self) EventBuffer(BufferLimits{full_bytes, full_events, max_bytes, watch_steps});
          },
          nb::arg("full_bytes"), nb::arg("full_events"), nb::arg("max_bytes"), nb::arg("watch_steps") = true)
      .def("scalar", &add_scalar, nb::arg("tag").none(), nb::arg("value").none(), nb::arg("step").none(),
           nb::arg("wall_time").none(), nb::arg("style") = 0, nb::arg("metadata") = nb::bytes("", 0))
      .def("scalars", &add_scalars, nb::arg("metrics"), nb::arg("step").none(), nb::arg("wall_time").none(),
           nb::arg("style") = 0,
           nb::sig(
               "def scalars(self, metrics: dict[str, float], step: object | None, wall_time: object | None, "
               "style: int = 0) -> int"))
      .def(
          "value",
          [](EventBuffer& self, nb::str tag, int field, nb::bytes payload, nb::bytes metadata,
             nb::handle step, nb::handle wall_time) -> uint32_t {
            std::string_view text;
            Stamp stamp;
            if (!text_of(tag, text) || !stamp_of(step, wall_time, stamp)) return kConvert;
            const auto key = static_cast<uint8_t>(field == 0 ? 0 : field << 3 | 2);
            return self.value(text, key, view(payload), view(metadata), stamp);
          },
          nb::arg("tag"), nb::arg("field"), nb::arg("payload"), nb::arg("metadata"), nb::arg("step").none(),
          nb::arg("wall_time").none(), "One Summary.Value: `payload` is its length-delimited field `field`.")
      .def(
          "summary",
          [](EventBuffer& self, nb::bytes summary, nb::handle step, nb::handle wall_time) -> uint32_t {
            Stamp stamp;
            if (!stamp_of(step, wall_time, stamp)) return kConvert;
            return self.summary(view(summary), stamp);
          },
          nb::arg("summary"), nb::arg("step").none(), nb::arg("wall_time").none(), "An encoded Summary.")
      .def(
          "fields",
          [](EventBuffer& self, nb::bytes fields, nb::handle step, nb::handle wall_time) -> uint32_t {
            Stamp stamp;
            if (!stamp_of(step, wall_time, stamp)) return kConvert;
            return self.fields(view(fields), stamp);
          },
          nb::arg("fields"), nb::arg("step").none(), nb::arg("wall_time").none(),
          "An Event's encoded fields, other than wall_time and step.")
      .def("take", &take, nb::sig("def take(self) -> tuple[bytes, int]"),
           "All pending records, and their number.")
      .def("notes", &notes, nb::sig("def notes(self) -> list[tuple[str, str, int, int]]"))
      .def(
          "has_tag", [](const EventBuffer& self, const std::string& tag) { return self.has_tag(tag); },
          nb::arg("tag"))
      .def("expect_after", &EventBuffer::expect_after, nb::arg("step").none())
      .def("call_attention", &EventBuffer::call_attention, nb::arg("on"))
      .def("drop_past_limit", &EventBuffer::drop_past_limit, nb::arg("on"))
      .def("close", &EventBuffer::close)
      .def("forget", &EventBuffer::forget)
      .def("forget_steps", &EventBuffer::forget_steps)
      .def_prop_ro("pending_bytes", &EventBuffer::pending_bytes)
      .def_prop_ro("dropped", &EventBuffer::dropped);

  m.def(
      "frame",
      [](nb::bytes payload) {
        std::string record;
        append_record(record, span_of(payload));
        return nb::bytes(record.data(), record.size());
      },
      nb::arg("payload"), "One TFRecord.");
  m.def("can_mark_at_exit", &can_mark_at_exit, "Whether a process can learn its own exit status.");
  m.def(
      "mark_at_exit",
      [](nb::bytes path, nb::bytes finished, nb::bytes failed, double wall_time) {
        const auto text = [](const nb::bytes& bytes) { return std::string(bytes.c_str(), bytes.size()); };
        mark_at_exit({text(path), text(finished), text(failed), wall_time});
      },
      nb::arg("path"), nb::arg("finished"), nb::arg("failed"), nb::arg("wall_time"),
      "When the process exits, appends an event to a file: `finished` or `failed`, by the exit status.");
  m.def(
      "write_exit_marks",
      [](int status) {
        const Unlocked release;
        write_exit_marks(status);
      },
      nb::arg("status"), "Appends the events now, because the process will not call exit().");
  m.def(
      "whole_records",
      [](nb::bytes records, size_t size) {
        const Bytes all = span_of(records);
        return whole_records(all.first(std::min(size, all.size())));
      },
      nb::arg("records"), nb::arg("size"), "How many of the first `size` bytes are complete records.");
  m.def(
      "last_step", [](nb::bytes tail) { return last_step(span_of(tail)); }, nb::arg("tail"),
      "The largest step among the records in the last bytes of an event file.");
  m.def(
      "first_wall_time", [](nb::bytes records) { return first_wall_time(span_of(records)); },
      nb::arg("records"), "The wall time of the first record; 0 if it has none.");
  m.def(
      "dtypes",
      [] {
        nb::dict all;
        for (size_t number = 1; number < kDtypeCount; ++number) {
          const DtypeInfo& dtype = kDtypes[number];
          if (dtype.list != 0) all[dtype.name] = nb::make_tuple(number, dtype.list);
        }
        return all;
      },
      nb::sig("def dtypes() -> dict[str, tuple[int, int]]"),
      "The dtypes of tensors: the number of each, and the field of TensorProto that holds its elements.");
  m.def(
      "packed_varints",
      [](Vector<int64_t> values) {
        return to_bytes(packed_varints(std::span<const int64_t>(values.data(), values.size())));
      },
      nb::arg("values"), "The content of a packed integer field.");
  m.def("default_histogram_f32", &histogram<float>, nb::arg("values"),
        nb::sig("def default_histogram_f32(values: object) -> tuple[float, float, float, float, bytes]"),
        "(min, max, sum, sum_squares, int64 counts as bytes) in the default bins.");
  m.def("default_histogram_f64", &histogram<double>, nb::arg("values"),
        nb::sig("def default_histogram_f64(values: object) -> tuple[float, float, float, float, bytes]"),
        "The same for float64.");
  m.def(
      "default_bin_edges",
      [] {
        const auto& edges = default_bin_edges();
        return nb::bytes(edges.data(), edges.size() * sizeof(double));
      },
      "float64 edges as bytes.");
}

}  // namespace tbq
