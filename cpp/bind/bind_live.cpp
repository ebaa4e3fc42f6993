// Binds the store of a followed log directory to Python.

#include <memory>
#include <mutex>
#include <set>
#include <tuple>

#include "bind/bind.hpp"
#include "bind/gil.hpp"
#include "bind/options.hpp"
#include "bind/stream.hpp"
#include "bytes/names.hpp"
#include "bytes/utf8.hpp"
#include "live/retracted.hpp"
#include "live/store.hpp"
#include "live/watched_paths.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tbq {
namespace {

// A NumPy array over a vector, which it keeps alive.
template <class T>
nb::object array_of(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* data) noexcept { delete static_cast<std::vector<T>*>(data); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

// A Store with the Python objects that it calls.
class PythonStore {
 public:
  PythonStore(const std::vector<std::string>& kinds, nb::object select, int64_t first_step, int64_t last_step,
              const std::string& restarts, unsigned threads, nb::object inflate, bool general_only,
              const std::vector<std::string>& patterns, nb::object hidden, uint64_t split)
      : questions_(select), inflate_(std::move(inflate)), hidden_(std::move(hidden)) {
    DecodeOptions options;
    options.kinds = kinds_of(kinds);
    options.first_step = first_step;
    options.last_step = last_step;
    options.restarts = restarts_of(restarts);
    options.threads = threads;
    options.general_only = general_only;
    options.split = split;
    if (!select.is_none()) {
      options.select = [this](uint32_t, std::string_view tag) { return questions_.ask(tag); };
    }
    if (!inflate_.is_none()) {
      options.inflate = [this](const std::string& path) { return unpacked_path(inflate_, path); };
    }
    options.tick = [](const Progress&) {
      in_python(look_for_signals);
      return true;
    };
    Exactly exactly;
    if (!hidden_.is_none() && !patterns.empty()) {
      exactly.is_pattern = [names = std::set<std::string>(patterns.begin(), patterns.end())](
                               const std::string& tag) { return names.contains(display_name(tag)); };
      exactly.hidden = [this](Kind kind, const std::vector<std::string>& tags) {
        return in_python([&] {
          nb::list shown;
          for (const std::string& tag : tags) shown.append(display_name(tag));
          std::vector<std::string> hidden_tags;
          for (const nb::handle name : call(hidden_, kind_name(kind), shown))
            hidden_tags.push_back(raw_name(nb::cast<std::string>(name)));
          return hidden_tags;
        });
      };
    }
    store_ = std::make_unique<Store>(std::move(options), std::move(exactly));
  }

  void set_files(const std::vector<std::string>& runs, nb::list paths, const std::vector<uint32_t>& run_of,
                 nb::object names, nb::object below) {
    std::vector<FileSpec> files;
    for (std::string& path : paths_of(paths)) files.push_back({std::move(path), 0});
    if (run_of.size() != files.size()) throw nb::value_error("run_of: want one per path");
    for (size_t i = 0; i < files.size(); ++i) {
      if (run_of[i] >= runs.size()) throw nb::value_error("run_of: no such run");
      files[i].run = run_of[i];
    }
    set_names(files, names);
    set_below(files, below);
    const Turn turn(mutex_);
    store_->set_files(runs, files);
  }

  std::shared_ptr<Update> poll(bool rows, uint64_t most) {
    const bool in_place = is_ending();
    const Turn turn(mutex_);
    return store_->poll(rows, most, in_place);
  }

  bool has_update() {
    const Turn turn(mutex_);
    return store_->has_update();
  }

  void received(const Update& update) {
    const Turn turn(mutex_);
    store_->received(update);
  }

  Result everything(const std::vector<std::string>& kinds, std::optional<std::vector<uint32_t>> runs) {
    const Kinds wanted = kinds_of(kinds);
    const Turn turn(mutex_);
    return store_->everything(wanted, runs ? &*runs : nullptr);
  }

  // The points of one series: steps, wall times and values.
  nb::tuple points(uint32_t run, const std::string& tag) {
    std::vector<int64_t> steps;
    std::vector<double> wall_times, values;
    {
      const Turn turn(mutex_);
      for (const Points& from : store_->points({run, raw_name(tag)}).points) {
        steps.insert(steps.end(), from.steps, from.steps + from.count);
        wall_times.insert(wall_times.end(), from.wall_times, from.wall_times + from.count);
        values.insert(values.end(), from.values, from.values + from.count);
      }
    }
    return nb::make_tuple(array_of(std::move(steps)), array_of(std::move(wall_times)),
                          array_of(std::move(values)));
  }

  // For each of these runs: the wall time of its first event, and the state of each series.
  nb::list listing(const std::vector<uint32_t>& runs) {
    struct OfRun {
      std::optional<double> first;
      std::vector<SeriesListing> series;
    };
    std::vector<OfRun> of_runs;
    {
      const Turn turn(mutex_);
      for (const uint32_t run : runs)
        of_runs.push_back({store_->run(run).first_event(), store_->run(run).listing()});
    }
    nb::list out;
    for (const OfRun& run : of_runs) {
      nb::list series;
      for (const SeriesListing& each : run.series) {
        const TagMetadata& metadata = each.metadata;
        series.append(nb::make_tuple(
            display_name(each.tag), kind_name(each.kind), field_name(each.field), each.count, each.max_step,
            each.max_wall_time, each.first_wall_time, each.last_step, each.last_wall_time, each.last_value,
            each.has_metadata, valid_utf8(metadata.plugin),
            nb::bytes(each.content.data(), each.content.size()), valid_utf8(metadata.display_name),
            valid_utf8(metadata.description), metadata.data_class, each.refused, field_name(each.began_as),
            each.began_with_metadata));
      }
      out.append(nb::make_tuple(run.first ? nb::cast(*run.first) : nb::none(), series));
    }
    return out;
  }

  // `series` are pairs of (run, tag); the columns are flat arrays, one curve after the other.
  nb::tuple curves(const std::vector<std::pair<uint32_t, std::string>>& series, const std::string& axis,
                   std::optional<std::pair<double, double>> range, size_t width, double smooth) {
    CurveOptions options;
    if (axis != "step" && axis != "relative" && axis != "wall")
      throw nb::value_error("axis: want step, relative or wall");
    options.axis = axis == "step" ? Axis::step : axis == "wall" ? Axis::wall : Axis::relative;
    options.ranged = range.has_value();
    if (range) std::tie(options.low, options.high) = *range;
    if (width < 1 || width > 100'000) throw nb::value_error("width: want 1 to 100,000");
    if (!(smooth >= 0 && smooth <= 1)) throw nb::value_error("smooth: want 0 to 1");
    options.width = width;
    options.smooth = smooth;
    std::vector<Store::Series> wanted;
    for (const auto& [run, tag] : series) wanted.push_back({run, raw_name(tag)});
    Columns columns;
    {
      const Turn turn(mutex_);
      columns = store_->curves(wanted, options);
    }
    return nb::make_tuple(columns.low, columns.high, array_of(std::move(columns.first)),
                          array_of(std::move(columns.last)), array_of(std::move(columns.least)),
                          array_of(std::move(columns.largest)), array_of(std::move(columns.broken)));
  }

  // For each of these runs: when it began and ended, and the last row of each series.
  nb::list latest(const std::vector<uint32_t>& runs, uint64_t back) {
    struct OfRun {
      std::pair<double, double> times;
      RunEnd end = RunEnd::none;
      std::vector<Latest> series;
    };
    std::vector<OfRun> of_runs;
    {
      const Turn turn(mutex_);
      for (const uint32_t run : runs) {
        const LiveRun& of = store_->run(run);
        of_runs.push_back({of.times(), of.end(), of.latest(back)});
      }
    }
    nb::list out;
    for (const OfRun& run : of_runs) {
      nb::list series;
      for (const Latest& each : run.series) {
        series.append(nb::make_tuple(kind_name(each.kind), display_name(each.tag), each.count, each.step,
                                     each.wall_time, each.value, each.earlier_rows, each.earlier_step,
                                     each.earlier_wall_time, each.takeovers));
      }
      out.append(nb::make_tuple(run.times.first, run.times.second, run_end_name(run.end), series));
    }
    return out;
  }

 private:
  TagQuestions questions_;
  nb::object inflate_;
  nb::object hidden_;
  std::mutex mutex_;
  std::unique_ptr<Store> store_;
};

}  // namespace

void bind_live(nb::module_& m) {
  nb::class_<Update>(m, "LiveUpdate", "What is new since the last poll.")
      .def_prop_ro(
          "added", [](Update& self) -> Result& { return self.added; }, nb::rv_policy::reference_internal,
          "The new rows, and the reports on all files of the runs that changed.")
      .def_prop_ro(
          "rows",
          [](const Update& self) {
            nb::dict rows;
            if (const uint64_t count = self.added.scalar_rows()) rows[kind_name(Kind::scalars)] = count;
            for (size_t kind = 0; kind < kKindCount; ++kind) {
              const auto& values = self.added.blobs[kind];
              if (values && !values->empty()) rows[kind_name(static_cast<Kind>(kind))] = values->size();
            }
            return rows;
          },
          nb::sig("def rows(self, /) -> dict[str, int]"), "The number of new rows of each kind.")
      .def_prop_ro(
          "retracted_count", [](const Update& self) { return self.retracted.size(); },
          "The number of retracted rows.")
      .def_ro("left", &Update::left, "The bytes left for the next poll.")
      .def(
          "retracted",
          [](const Update& self) {
            Stream stream;
            export_retracted(self.retracted, stream.get());
            return stream;
          },
          "Earlier rows that no longer count: run, tag, kind, step, wall_time, value.")
      .def_prop_ro(
          "changes",
          [](const Update& self) {
            nb::list out;
            for (const LiveChange& change : self.changes) {
              out.append(nb::make_tuple(nb::str(change.run.c_str(), change.run.size()),
                                        nb::bytes(change.path.data(), change.path.size()),
                                        file_change_name(change.what)));
            }
            return out;
          },
          nb::sig("def changes(self, /) -> list[tuple[str, bytes, str]]"),
          "The changes of files: run, path, and new, grown, replaced or gone.");

  nb::class_<PythonStore>(m, "Store", "Everything read so far from a followed log directory.")
      .def(nb::init<const std::vector<std::string>&, nb::object, int64_t, int64_t, const std::string&,
                    unsigned, nb::object, bool, const std::vector<std::string>&, nb::object, uint64_t>(),
           "kinds"_a, "select"_a.none(), "first_step"_a, "last_step"_a, "restarts"_a, "threads"_a,
           "inflate"_a.none(), "general_only"_a = false, "patterns"_a = std::vector<std::string>(),
           "hidden"_a.none() = nb::none(), "split"_a = DecodeOptions().split)
      .def("set_files", &PythonStore::set_files, "runs"_a, "paths"_a, "run_of"_a,
           "names"_a.none() = nb::none(), "below"_a.none() = nb::none(),
           nb::sig("def set_files(self, runs: collections.abc.Sequence[str], paths: list[bytes], "
                   "run_of: collections.abc.Sequence[int], names: list[bytes] | None = None, "
                   "below: collections.abc.Sequence[bool] | None = None) -> None"),
           "Sets the files to follow; they are ordered by `names`, if the paths are those of copies. `below` "
           "says which of them are of a directory below their run's.")
      .def("poll", &PythonStore::poll, "rows"_a = true, "most"_a = UINT64_MAX,
           "Check every file and read what is new, up to about `most` bytes; without `rows`, only report the "
           "changes of files. Returns the same update again until received() is called with it.")
      .def_prop_ro("has_update", &PythonStore::has_update, "Whether an update waits for received().")
      .def("received", &PythonStore::received, "update"_a,
           "Confirms this update, so that the next poll returns another one.")
      .def("curves", &PythonStore::curves, "series"_a, "axis"_a, "range"_a.none(), "width"_a, "smooth"_a,
           nb::sig("def curves(self, series: collections.abc.Sequence[tuple[int, str]], axis: str, "
                   "range: tuple[float, float] | None, width: int, smooth: float) -> tuple[float, float, "
                   "object, object, object, object, object]"),
           "After low and high: the first, last, smallest and largest value of each pixel column of each "
           "curve; "
           "then the position of each curve's first value that is not finite.")
      .def("latest", &PythonStore::latest, "runs"_a, "back"_a,
           nb::sig("def latest(self, runs: collections.abc.Sequence[int], back: int) -> "
                   "list[tuple[float, float, str, list[tuple[str, str, int, int, float, float, int, float, "
                   "list[tuple[int, float]]]]]]"),
           "For each of these runs: when it began and ended, how its writer says that it ended, and for each "
           "series the kind, tag, number of "
           "rows, "
           "step, wall time and value of its last row, step and wall time of the row `back` rows before it, "
           "and where later sessions took over.")
      .def("everything", &PythonStore::everything, "kinds"_a, "runs"_a.none() = nb::none(),
           nb::sig("def everything(self, kinds: collections.abc.Sequence[str], "
                   "runs: collections.abc.Sequence[int] | None = None) -> Result"),
           "All rows so far, as decode() returns them, of these runs or of all.")
      .def("points", &PythonStore::points, "run"_a, "tag"_a,
           nb::sig("def points(self, run: int, tag: str) -> tuple[object, object, object]"),
           "The points of one series of scalars: steps, wall times, values.")
      .def("listing", &PythonStore::listing, "runs"_a,
           nb::sig("def listing(self, runs: collections.abc.Sequence[int]) -> "
                   "list[tuple[float | None, list[tuple[str, str, str, int, int, float, float, int, float, "
                   "float, bool, str, bytes, "
                   "str, str, int, int, str, bool]]]]"),
           "For each of these runs: the wall time of its first event, and each series with tag, kind, the "
           "field "
           "of its first value, rows, largest step and wall time, first wall time, last step, wall time and "
           "value, whether it has metadata, plugin, content, display name, description, data class, refused "
           "values, the field of the tag's first value, and whether that value carries metadata.");

  nb::class_<WatchedPaths>(m, "WatchedPaths", "Paths, and the last known state of each.")
      .def(nb::init<>())
      .def(
          "set",
          [](WatchedPaths& self, nb::list paths) {
            std::vector<std::string> new_paths = paths_of(paths);
            const Unlocked free;
            self.set(std::move(new_paths));
          },
          "paths"_a, nb::sig("def set(self, paths: list[bytes]) -> None"))
      .def(
          "changed",
          [](WatchedPaths& self) {
            const Unlocked free;
            return self.changed();
          },
          "Whether one of the paths changed since the last call, or so shortly before it that the file "
          "system's clock may not show it.");
}

}  // namespace tbq
