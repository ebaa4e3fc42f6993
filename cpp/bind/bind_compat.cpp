// Binds to Python the core of the drop-ins for TensorBoard's own classes.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <mutex>

#include "bind/bind.hpp"
#include "bind/gil.hpp"
#include "bytes/names.hpp"
#include "bytes/utf8.hpp"
#include "compat/accumulator.hpp"
#include "compat/record_file.hpp"
#include "event/scalar_tensor.hpp"
#include "event/schema.hpp"
#include "io/growable_buffer.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tbq {
namespace {

nb::bytes bytes_of(std::string_view text) { return nb::bytes(text.data(), text.size()); }

std::string_view view_of(const nb::bytes& bytes) {
  return {static_cast<const char*>(bytes.data()), bytes.size()};
}

constexpr const char* kKindNames[kLegacyKinds] = {"scalars", "histograms", "distributions",
                                                  "images",  "audio",      "tensors"};

LegacyKind legacy_kind(std::string_view name) {
  for (size_t kind = 0; kind < kLegacyKinds; ++kind) {
    if (name == kKindNames[kind]) return static_cast<LegacyKind>(kind);
  }
  throw nb::value_error("want a kind of EventAccumulator");
}

// Raises an OSError, except for a file that no longer exists: it has nothing new.
void check(const RecordFile& file, int error) {
  if (error == 0 || error == ENOENT) return;
  errno = error;
  PyErr_SetFromErrnoWithFilename(PyExc_OSError, file.path().c_str());
  throw nb::python_error();
}

// The number of a tensor that is one float of rank 0.
bool float_of(std::string_view tensor, double& value) {
  const Bytes bytes(reinterpret_cast<const uint8_t*>(tensor.data()), tensor.size());
  Cursor cursor(bytes);
  Field field;
  while (cursor.field(field)) {
    if (!field.is(schema::Tensor::shape, Wire::bytes)) continue;
    Cursor shape(field.bytes);
    Field dim;
    while (shape.field(dim)) {
      if (dim.number == schema::TensorShape::dim) return false;
    }
  }
  const ScalarTensor scalar = scalar_of_tensor(bytes);
  if (!scalar.valid || (scalar.dtype != Dtype::float32 && scalar.dtype != Dtype::float64)) return false;
  value = scalar.value;
  return true;
}

// A tag as TensorBoard names it. protobuf refuses a tag that is not UTF-8; it gets tbq's display name.
std::string shown(std::string_view tag) { return is_valid_utf8(tag) ? std::string(tag) : display_name(tag); }

nb::tuple as_tuple(const LogNote& note) {
  static constexpr const char* names[] = {"source_writer", "file_version", "graph", "meta_graph",
                                          "run_metadata",  "metadata",     "purge", "bad_event"};
  const char* const name = names[note.what];
  switch (note.what) {
    case LogNote::run_metadata:
    case LogNote::metadata:
      return nb::make_tuple(name, shown(note.tag), bytes_of(note.bytes));
    case LogNote::purge: {
      nb::list purged;
      for (const uint64_t count : note.purged) purged.append(count);
      nb::object last_wall_time = nb::int_(-1);
      if (note.has_last) last_wall_time = nb::float_(note.last_wall_time);
      return nb::make_tuple(name, note.last_step, last_wall_time, note.step, note.wall_time, purged);
    }
    case LogNote::bad_event:
      return nb::make_tuple(name);
    default:
      return nb::make_tuple(name, bytes_of(note.bytes));
  }
}

// The rows of one tag at one moment.
struct ValueRows {
  std::shared_ptr<const Reservoir<LegacyValue>::Rows> rows;  // null if there are none

  size_t size() const { return rows ? rows->size() : 0; }

  nb::tuple row(size_t index) const {
    if (index >= size()) throw nb::index_error();
    const LegacyValue& row = (*rows)[index];
    std::string room;
    std::string_view message;
    if (!row.payload.read(room, message)) {
      PyErr_Format(PyExc_OSError,
                   "%s has changed or gone since it was loaded, and the value at step %lld is not in memory",
                   row.payload.path().c_str(), static_cast<long long>(row.step));
      throw nb::python_error();
    }
    return nb::make_tuple(row.wall_time, row.step, bytes_of(message));
  }
};

class PythonAccumulator {
 public:
  PythonAccumulator(const nb::dict& sizes, nb::object parse_version)
      : parse_version_(std::move(parse_version)),
        accumulator_(sizes_of(sizes), [this](std::string_view text) {
          return in_python([&] { return nb::cast<double>(call(parse_version_, bytes_of(text))); });
        }) {}

  // Reads up to `most` events; returns how many it read. Values stay in memory if `keep` is set, or if there
  // are few.
  uint64_t read(RecordFile& file, uint64_t most, bool purge, bool keep) {
    uint64_t count = 0;
    int error = 0;
    {
      const Turn turn(mutex_);
      accumulator_.set_purge(purge);
      RecordPlace place;
      if (!keep) place.path = std::make_shared<const std::string>(file.path());
      error = file.read([&](Bytes event, uint64_t at) {
        place.offset = at;
        accumulator_.add(event, place);
        return ++count < most;
      });
    }
    check(file, error);
    return count;
  }

  void add(const nb::bytes& event, bool purge) {
    const std::string_view text = view_of(event);
    const Turn turn(mutex_);
    accumulator_.set_purge(purge);
    accumulator_.add({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }

  void set_most_kept(uint64_t bytes) {
    const Guard turn(*this);
    accumulator_.set_most_kept(bytes);
  }

  nb::list notes() {
    std::vector<LogNote> notes;
    {
      const Turn turn(mutex_);
      notes = accumulator_.take_notes();
    }
    nb::list out;
    for (const LogNote& note : notes) out.append(as_tuple(note));
    return out;
  }

  nb::object first_wall_time() {
    const Guard turn(*this);
    if (accumulator_.events() == 0) return nb::none();
    return nb::float_(accumulator_.first_wall_time());
  }
  nb::tuple most_recent() {
    const Guard turn(*this);
    if (!accumulator_.has_last()) return nb::make_tuple(-1, -1);
    return nb::make_tuple(accumulator_.last_step(), accumulator_.last_wall_time());
  }

  nb::list tags(const std::string& kind) {
    nb::list out;
    const Guard turn(*this);
    for (const std::string_view tag : accumulator_.tags(legacy_kind(kind))) {
      const std::string name = shown(tag);
      out.append(nb::str(name.data(), name.size()));
    }
    return out;
  }

  // -1 if there is no such tag.
  int64_t count(const std::string& kind, const std::string& tag) {
    const LegacyKind wanted = legacy_kind(kind);
    const Guard turn(*this);
    const std::string name = name_of(tag);
    if (wanted == LegacyKind::scalars) {
      const auto* rows = accumulator_.scalars(name);
      return rows ? static_cast<int64_t>(rows->size()) : -1;
    }
    const auto rows = accumulator_.values(wanted, name);
    return rows ? static_cast<int64_t>(rows->size()) : -1;
  }

  using Room = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  // The rows of a tag as bytes owned by the caller.
  nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>> scalars(const std::string& tag) {
    GrowableBuffer<LegacyScalar> out;
    {
      const Turn turn(mutex_);
      const std::string name = name_of(tag);
      if (const auto* rows = accumulator_.scalars(name)) rows->copy_to(out.extend(rows->size()));
    }
    auto* owner = new std::shared_ptr<void>(out.owner());
    const nb::capsule keeper(owner,
                             [](void* held) noexcept { delete static_cast<std::shared_ptr<void>*>(held); });
    return {reinterpret_cast<uint8_t*>(out.data()), {out.size() * sizeof(LegacyScalar)}, keeper};
  }

  // The same for tensors. A value that is not a float of rank 0 becomes NaN, and the answer is false.
  nb::tuple copy_tensors(const std::string& tag, Room room) {
    size_t count = 0;
    bool plain = true;
    {
      const Turn turn(mutex_);
      const std::string name = name_of(tag);
      if (const auto rows = accumulator_.values(LegacyKind::tensors, name)) {
        const size_t most = room.shape(0) / sizeof(LegacyScalar);
        std::string scratch;
        rows->for_each([&](const LegacyValue& row) {
          if (count == most) return;
          LegacyScalar out{row.wall_time, row.step, std::numeric_limits<double>::quiet_NaN()};
          std::string_view message;
          plain = row.payload.read(scratch, message) && float_of(message, out.value) && plain;
          std::memcpy(room.data() + count++ * sizeof(LegacyScalar), &out, sizeof(LegacyScalar));
        });
      }
    }
    return nb::make_tuple(count, plain);
  }

  ValueRows values(const std::string& kind, const std::string& tag) {
    const LegacyKind wanted = legacy_kind(kind);
    const Turn turn(mutex_);
    const std::string name = name_of(tag);
    return {accumulator_.values(wanted, name)};
  }

 private:
  // Waits for its turn without the GIL, because the thread that holds the turn may need it.
  class Guard {
   public:
    explicit Guard(PythonAccumulator& owner) : turn_(owner.mutex_, std::defer_lock) {
      if (turn_.try_lock()) return;
      const Unlocked free;
      turn_.lock();
    }

   private:
    std::unique_lock<std::mutex> turn_;
  };

  // The tag that is displayed as `tag`.
  std::string name_of(const std::string& tag) const { return accumulator_.has(tag) ? tag : raw_name(tag); }

  static Accumulator::Sizes sizes_of(const nb::dict& sizes) {
    Accumulator::Sizes out;
    for (size_t kind = 0; kind < kLegacyKinds; ++kind) {
      out[kind].most = nb::cast<uint64_t>(sizes[kKindNames[kind]]);
      out[kind].keep_last = static_cast<LegacyKind>(kind) != LegacyKind::compressed_histograms;
    }
    return out;
  }

  nb::object parse_version_;
  std::mutex mutex_;
  Accumulator accumulator_;
};

// The payloads of up to `most` records, at most about one megabyte.
nb::list records_of(RecordFile& file, uint64_t most) {
  constexpr size_t kEnough = size_t{1} << 20;
  std::vector<std::string> records;
  size_t size = 0;
  int error = 0;
  {
    const Unlocked free;
    error = file.read([&](Bytes record, uint64_t) {
      records.emplace_back(as_text(record));
      size += record.size();
      return records.size() < most && size < kEnough;
    });
  }
  if (records.empty()) check(file, error);
  nb::list out;
  for (const std::string& record : records) out.append(bytes_of(record));
  return out;
}

}  // namespace

void bind_compat(nb::module_& m) {
  nb::class_<RecordFile>(m, "RecordFile", "The records of a file that may still grow; each is returned once.")
      .def(
          "__init__",
          [](RecordFile* self, const nb::bytes& path, uint64_t offset) {
            new (self) RecordFile(std::string(view_of(path)), offset);
          },
          "path"_a, "offset"_a = 0)
      .def("records", &records_of, "most"_a, nb::sig("def records(self, most: int) -> list[bytes]"),
           "The next records, at most `most`; none at the end.")
      .def("accept_replacement", &RecordFile::accept_replacement, nb::call_guard<Unlocked>(),
           "Treat the file at `path` as the one that was read so far.")
      .def_prop_ro("offset", &RecordFile::offset, nb::call_guard<Unlocked>(),
                   "Where the next record is expected.")
      .def_prop_ro("unfinished", &RecordFile::unfinished, nb::call_guard<Unlocked>(),
                   "The bytes of an incomplete record at the end.")
      .def(
          "faults",
          [](RecordFile& self) {
            std::pair<std::vector<Fault>, uint64_t> new_faults;
            {
              const Unlocked free;  // the thread that holds the turn may need the GIL
              new_faults = self.take_faults();
            }
            const auto& [faults, more] = new_faults;
            nb::list out;
            for (const Fault& fault : faults) {
              out.append(nb::make_tuple(fault_name(fault.code), fault.offset, fault.length));
            }
            return nb::make_tuple(out, more);
          },
          nb::sig("def faults(self) -> tuple[list[tuple[str, int, int]], int]"),
          "Damage skipped since the last call: code, offset and length of the first faults, and the number "
          "of "
          "further faults.");

  nb::class_<ValueRows>(m, "ValueRows", "Values of one tag: wall time, step and message.")
      .def("__len__", &ValueRows::size)
      .def("row", &ValueRows::row, "index"_a,
           nb::sig("def row(self, index: int) -> tuple[float, int, bytes]"));

  nb::class_<PythonAccumulator>(m, "Accumulator",
                                "The values that EventAccumulator keeps from a stream of events.")
      .def(nb::init<const nb::dict&, nb::object>(), "sizes"_a, "parse_version"_a,
           nb::sig("def __init__(self, sizes: dict[str, int], "
                   "parse_version: collections.abc.Callable[[bytes], float]) -> None"))
      .def("read", &PythonAccumulator::read, "file"_a, "most"_a, "purge"_a, "keep"_a = false,
           "Add the next events of a file, at most `most`; returns how many were added.")
      .def("set_most_kept", &PythonAccumulator::set_most_kept, "bytes"_a,
           "The bytes of large values that stay in memory; further values are read from the file on request.")
      .def("add", &PythonAccumulator::add, "event"_a, "purge"_a, "Add one serialized Event.")
      .def("notes", &PythonAccumulator::notes, nb::sig("def notes(self) -> list[tuple[typing.Any, ...]]"),
           "The events other than values since the last call, in order.")
      .def("first_wall_time", &PythonAccumulator::first_wall_time,
           nb::sig("def first_wall_time(self) -> float | None"))
      .def("most_recent", &PythonAccumulator::most_recent,
           nb::sig("def most_recent(self) -> tuple[int, float]"))
      .def("tags", &PythonAccumulator::tags, "kind"_a, nb::sig("def tags(self, kind: str) -> list[str]"))
      .def("count", &PythonAccumulator::count, "kind"_a, "tag"_a,
           "The number of rows of a tag, or -1 if there is no such tag.")
      .def("scalars", &PythonAccumulator::scalars, "tag"_a,
           nb::sig("def scalars(self, tag: str) -> numpy.typing.NDArray[numpy.uint8]"),
           "Rows of wall time, step and value as bytes.")
      .def("copy_tensors", &PythonAccumulator::copy_tensors, "tag"_a, "room"_a,
           nb::sig("def copy_tensors(self, tag: str, room: numpy.typing.NDArray[numpy.uint8]) -> tuple[int, "
                   "bool]"),
           "Write the same of tensors to bytes; returns how many, and whether all of them are floats of rank "
           "0.")
      .def("values", &PythonAccumulator::values, "kind"_a, "tag"_a, "The current rows of a tag.");
}

}  // namespace tbq
