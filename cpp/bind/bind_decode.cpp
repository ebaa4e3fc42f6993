// Binds decode(paths, runs, …) and its Result to Python.

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "bind/bind.hpp"
#include "bind/gil.hpp"
#include "bind/options.hpp"
#include "bind/stream.hpp"
#include "bytes/names.hpp"
#include "bytes/utf8.hpp"
#include "decode/decode.hpp"
#include "decode/ends.hpp"
#include "decode/file_opener.hpp"
#include "tables/result_tables.hpp"
#include "tables/sub_runs.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tbq {
namespace {

ScalarColumns columns_of(const std::vector<std::string>& names) {
  static constexpr const char* known[] = {"run", "tag", "step", "wall_time", "value"};
  ScalarColumns columns = 0;
  for (const std::string& name : names) {
    const auto* at = std::find(std::begin(known), std::end(known), name);
    if (at == std::end(known)) throw nb::value_error(("scalars have no column " + name).c_str());
    columns |= 1U << static_cast<unsigned>(at - std::begin(known));
  }
  return columns;
}

// One {tag: SummaryMetadata} or None per run. Sessions of one run share the object.
std::vector<std::shared_ptr<const KnownTags>> known_of(nb::handle metadata) {
  std::vector<std::shared_ptr<const KnownTags>> known;
  if (metadata.is_none()) return known;
  const auto text = [](nb::handle object) {
    const auto bytes = nb::cast<nb::bytes>(object);
    return std::string(bytes.c_str(), bytes.size());
  };
  std::map<PyObject*, std::shared_ptr<const KnownTags>> converted;
  for (nb::handle of_run : metadata) {
    std::shared_ptr<const KnownTags>& shared = converted[of_run.ptr()];
    if (!shared && !of_run.is_none()) {
      auto tags = std::make_shared<KnownTags>();
      for (const auto& [tag, bytes] : nb::cast<nb::dict>(of_run)) {
        KnownTag known_tag{{}, text(bytes)};
        const auto* data = reinterpret_cast<const uint8_t*>(known_tag.bytes.data());
        if (parse_metadata({data, known_tag.bytes.size()}, known_tag.parsed))
          tags->emplace(text(tag), std::move(known_tag));
      }
      shared = std::move(tags);
    }
    known.push_back(shared);
  }
  return known;
}

Result decode_files(nb::list paths, const std::vector<uint32_t>& runs, const std::vector<std::string>& kinds,
                    nb::object select, int64_t first_step, int64_t last_step, const std::string& restarts,
                    unsigned threads, size_t block, uint64_t split, bool defer, nb::object progress,
                    nb::object inflate, bool session_tables, bool verify, bool count, bool general_only,
                    nb::object columns, nb::object ranges, nb::object metadata, nb::object names,
                    nb::object below) {
  std::vector<FileSpec> files;
  files.reserve(nb::len(paths));
  for (nb::handle path : paths) {
    const auto bytes = nb::cast<nb::bytes>(path);
    files.push_back({std::string(bytes.c_str(), bytes.size()), 0});
  }
  if (runs.size() != files.size()) throw nb::value_error("runs: want one per path");
  for (size_t i = 0; i < runs.size(); ++i) files[i].run = runs[i];
  if (!ranges.is_none()) {
    const auto bounds = nb::cast<std::vector<std::pair<uint64_t, uint64_t>>>(ranges);
    if (bounds.size() != files.size()) throw nb::value_error("ranges: want one per path");
    for (size_t i = 0; i < files.size(); ++i) {
      files[i].begin = bounds[i].first;
      files[i].limit = bounds[i].second;
    }
  }
  set_names(files, names);
  set_below(files, below);
  DecodeOptions options;
  options.kinds = kinds_of(kinds);
  options.first_step = first_step;
  options.last_step = last_step;
  options.restarts = restarts_of(restarts);
  options.threads = threads;
  options.in_place = is_ending();
  options.block = block;
  options.split = split < 1 ? 1 : split;
  options.defer = defer;
  options.session_tables = session_tables;
  options.verify = verify;
  options.count = count;
  options.general_only = general_only;
  if (!columns.is_none()) options.columns = columns_of(nb::cast<std::vector<std::string>>(columns));
  options.known = known_of(metadata);
  options.count_bytes = !progress.is_none();
  TagQuestions questions(select);
  if (!select.is_none()) options.select = [&](uint32_t, std::string_view tag) { return questions.ask(tag); };
  options.tick = [&](const Progress& now) {
    in_python([&] {
      look_for_signals();
      if (!progress.is_none()) call(progress, now.bytes, now.total_bytes, now.files, now.total_files);
    });
    return true;
  };
  if (!inflate.is_none()) {
    options.inflate = [&](const std::string& path) { return unpacked_path(inflate, path); };
  }
  const Unlocked free;
  return decode(files, options);
}

Stream stream_of(void (*write)(const Result&, ArrowArrayStream*), const Result& result) {
  Stream stream;
  write(result, stream.get());
  return stream;
}

}  // namespace

void bind_decode(nb::module_& m) {
  nb::class_<Stream>(m, "Stream", "An Arrow stream that can be consumed once.")
      .def(
          "__arrow_c_stream__", [](Stream& self, nb::object) { return self.capsule(); },
          "requested_schema"_a = nb::none());

  nb::class_<Fault>(m, "Fault", "A damaged range of a file.")
      .def_prop_ro("code", [](const Fault& self) { return fault_name(self.code); })
      .def_ro("offset", &Fault::offset)
      .def_ro("length", &Fault::length)
      .def_prop_ro(
          "step_before",
          [](const Fault& self) { return self.has_before ? nb::cast(self.step_before) : nb::none(); },
          nb::sig("def step_before(self, /) -> int | None"))
      .def_prop_ro(
          "step_after",
          [](const Fault& self) { return self.has_after ? nb::cast(self.step_after) : nb::none(); },
          nb::sig("def step_after(self, /) -> int | None"));

  nb::class_<FileReport>(m, "FileReport", "The report on one file.")
      .def_prop_ro("path",
                   [](const FileReport& self) { return nb::bytes(self.path.data(), self.path.size()); })
      .def_ro("run", &FileReport::run)
      .def_prop_ro("state", [](const FileReport& self) { return file_state_name(self.state); })
      .def_ro("error", &FileReport::error)
      .def_ro("compressed", &FileReport::compressed)
      .def_ro("bytes", &FileReport::bytes)
      .def_ro("resume", &FileReport::resume)
      .def_ro("records", &FileReport::records)
      .def_prop_ro("values", [](const FileReport& self) { return self.steps.count; })
      .def_ro("truncated", &FileReport::truncated)
      .def_ro("lost_bytes", &FileReport::lost_bytes)
      .def_ro("more_faults", &FileReport::more_faults)
      .def_ro("sessions", &FileReport::sessions)
      .def_ro("bytes_read", &FileReport::bytes_read)
      .def_prop_ro("timed", [](const FileReport& self) { return self.times.known; })
      .def_prop_ro("first_wall_time", [](const FileReport& self) { return self.times.start(); })
      .def_prop_ro("last_wall_time", [](const FileReport& self) { return self.times.end; })
      .def_prop_ro("first_step", [](const FileReport& self) { return self.steps.first; })
      .def_prop_ro("last_step", [](const FileReport& self) { return self.steps.last; })
      .def_prop_ro("max_step", [](const FileReport& self) { return self.steps.max; })
      .def_prop_ro("writer", [](const FileReport& self) { return valid_utf8(self.writer); })
      .def_prop_ro("file_version", [](const FileReport& self) { return valid_utf8(self.file_version); })
      .def_ro("faults", &FileReport::faults);

  nb::class_<RunEnds>(m, "RunEnds", "What the files of a run say about its end.")
      .def(
          "__init__",
          [](RunEnds* self, std::optional<bool> failed, double marked_at, double logged_until) {
            TimeSpan times;
            times.add(logged_until);
            new (self) RunEnds({failed.has_value(), failed.value_or(false), marked_at}, times);
          },
          "failed"_a.none(), "marked_at"_a, "logged_until"_a,
          nb::sig("def __init__(self, failed: bool | None, marked_at: float, logged_until: float) -> None"))
      .def_prop_ro(
          "end", [](const RunEnds& self) { return run_end_name(self.end()); },
          "`finished` or `failed`; empty if there is no mark, or something was logged after it.")
      .def_prop_ro(
          "failed",
          [](const RunEnds& self) { return self.mark().known ? nb::cast(self.mark().failed) : nb::none(); },
          nb::sig("def failed(self, /) -> bool | None"), "What the last mark says; None without a mark.")
      .def_prop_ro("marked_at", [](const RunEnds& self) { return self.mark().wall_time; })
      .def_prop_ro(
          "logged_until", [](const RunEnds& self) { return self.times().known ? self.times().end : 0.0; },
          "The last wall time in the run's own files; 0 if there is none.")
      .def("merge", &RunEnds::merge, "later"_a, "Adds what was read later.");

  nb::class_<Result>(m, "Result", "Decoded files.")
      .def_ro("files", &Result::files)
      .def_prop_ro("file_count", [](const Result& self) { return self.files.size(); })
      .def(
          "troubled",
          [](const Result& self) {
            std::vector<FileReport> reports;
            for (const FileReport& report : self.files) {
              if (report.state != FileState::events || !report.faults.empty() || report.truncated > 0 ||
                  report.error != 0 || report.more_faults > 0) {
                reports.push_back(report);
              }
            }
            return reports;
          },
          "The reports of all files that have something to report.")
      .def(
          "run_starts",
          [](const Result& self) {
            std::map<uint32_t, double> starts;
            for (const FileReport& file : self.files) {
              if (!file.times.known || !std::isfinite(file.times.start())) continue;
              double& start = starts.emplace(file.run, file.times.start()).first->second;
              start = std::min(start, file.times.start());
            }
            nb::dict start_of_run;
            for (const auto& [run, start] : starts) start_of_run[nb::int_(run)] = start;
            return start_of_run;
          },
          nb::sig("def run_starts(self) -> dict[int, float]"),
          "The start of each run with wall times: the earliest time in any of its files, selected or not.")
      .def(
          "run_ends",
          [](const Result& self) {
            std::map<uint32_t, RunEnds> ends;
            for (const FileReport& file : self.files) ends[file.run].add(file);
            return ends;
          },
          nb::sig("def run_ends(self) -> dict[int, RunEnds]"),
          "How runs ended, according to the marks of their writers.")
      .def_prop_ro("scalar_rows", &Result::scalar_rows)
      .def(
          "tags", [](const Result& self, const std::string& kind) { return self.tags(kind_named(kind)); },
          "kind"_a, "The tags with values of this kind, in order.")
      .def(
          "metadata",
          [](const Result& self) {
            nb::dict runs;
            const auto bytes = [](const std::string& of) { return nb::bytes(of.data(), of.size()); };
            for (const SeriesReport& series : self.series) {
              if (series.metadata_bytes.empty()) continue;
              const nb::int_ run(series.run);
              if (!runs.contains(run)) runs[run] = nb::dict();
              nb::cast<nb::dict>(runs[run])[bytes(series.tag)] = bytes(series.metadata_bytes);
            }
            return runs;
          },
          nb::sig("def metadata(self) -> dict[int, dict[bytes, bytes]]"),
          "For each run, the SummaryMetadata that applies to each tag, if the tag has one.")
      .def(
          "renamed",
          [](const Result& self) {
            nb::list rows;
            for (const FileReport& file : self.files) {
              for (const auto& [tag, name] : file.renamed)
                rows.append(nb::make_tuple(file.run, display_name(tag), display_name(name)));
            }
            return rows;
          },
          nb::sig("def renamed(self) -> list[tuple[int, str, str]]"),
          "The tags of files below their runs that have another name there: run, tag, name.")
      .def(
          "sub_runs",
          [](const Result& self, size_t runs) {
            nb::list facts;
            for (const SubRunFacts& each : sub_run_facts(self, runs)) {
              facts.append(nb::make_tuple(sub_run_state_name(each.state),
                                          nb::bytes(each.hparams.data(), each.hparams.size()), each.calls));
            }
            return facts;
          },
          "runs"_a, nb::sig("def sub_runs(self, runs: int) -> list[tuple[str, bytes, int]]"),
          "For each run, whether it holds what `add_hparams` writes (`nothing`, `begun`, `complete`, `trial` "
          "or "
          "`other`), the hyperparameters of its first call as bytes that can be compared, and the number of "
          "calls.")
      .def(
          "notable",
          [](const Result& self) {
            nb::list rows;
            for (const SeriesReport& series : self.series) {
              const uint64_t refused = series.kind == Kind::tensors ? series.refused : 0;
              if (series.dropped.count == 0 && series.rounded == 0 && refused == 0) continue;
              rows.append(nb::make_tuple(series.run, display_name(series.tag), series.dropped.count,
                                         series.dropped.min, series.dropped.max, series.rounded, refused));
            }
            return rows;
          },
          nb::sig("def notable(self) -> list[tuple[int, str, int, int, int, int, int]]"),
          "Series with dropped, rounded or refused values: run, tag, dropped, the smallest and largest "
          "dropped step, rounded, refused.")
      .def(
          "scalars",
          [](Result& self, const std::vector<std::string>& runs) {
            std::vector<ScalarBatch> batches;  // moved out while the GIL is held: another thread may ask too
            if (!self.take_scalars(batches)) {
              throw nb::value_error("the scalars of this result were already moved out");
            }
            Stream stream;
            const Unlocked free;
            export_scalars(self, std::move(batches), runs, stream.get());
            return stream;
          },
          "runs"_a, "Moves the scalars out as an Arrow stream, once.")
      .def(
          "series",
          [](const Result& self, const std::vector<std::string>& runs) {
            Stream stream;
            export_series(self, runs, stream.get());
            return stream;
          },
          "runs"_a, "One row per (run, tag, kind) with all that was seen of it, as an Arrow stream.")
      .def(
          "file_table", [](const Result& self) { return stream_of(export_files, self); },
          "The numbers of `files` as an Arrow stream; `state` is an index into file_states().")
      .def(
          "sessions", [](const Result& self) { return stream_of(export_sessions, self); },
          "With session_tables: one row per session, in order within each run, as an Arrow stream.")
      .def(
          "segments", [](const Result& self) { return stream_of(export_segments, self); },
          "With session_tables: one row per session and series, as an Arrow stream.");

  m.def(
      "display_name",
      [](const nb::bytes& name) {
        const std::string shown = display_name({name.c_str(), name.size()});
        return nb::str(shown.data(), shown.size());
      },
      "name"_a,
      "The text that tbq shows for a name of any bytes: unchanged, or with `\\\\` and `\\xHH` if it is not "
      "UTF-8. Different names are always shown differently.");
  m.def(
      "raw_name",
      [](const std::string& shown) {
        const std::string name = raw_name(shown);
        return nb::bytes(name.data(), name.size());
      },
      "shown"_a, "The name that display_name shows as `shown`.");

  m.def(
      "kinds",
      [] {
        std::vector<std::string> names;
        for (size_t i = 0; i < kKindCount; ++i) names.emplace_back(kind_name(static_cast<Kind>(i)));
        return names;
      },
      "The names of the kinds of values.");

  m.def(
      "file_states",
      [] {
        std::vector<std::string> names;
        for (const auto state : {FileState::events, FileState::empty, FileState::unreadable,
                                 FileState::git_lfs, FileState::not_events}) {
          names.emplace_back(file_state_name(state));
        }
        return names;
      },
      "The names of the states of a file; `file_table` contains indices into them.");

  m.def(
      "is_compressed",
      [](const nb::bytes& path) {
        const std::string name(path.c_str(), path.size());
        const Unlocked free;
        File file;
        BlockReader reader(64);
        return file.open(name) == 0 && content_of(file, reader) == FileContent::compressed;
      },
      "path"_a, nb::sig("def is_compressed(path: bytes) -> bool"),
      "Whether the entire file is compressed by gzip or zlib.");

  m.def("decode", &decode_files, "paths"_a, "runs"_a, "kinds"_a, "select"_a.none(), "first_step"_a,
        "last_step"_a, "restarts"_a, "threads"_a, "block"_a, "split"_a, "defer"_a, "progress"_a.none(),
        "inflate"_a.none(), "session_tables"_a = false, "verify"_a = false, "count"_a = false,
        "general_only"_a = false, "columns"_a.none() = nb::none(), "ranges"_a.none() = nb::none(),
        "metadata"_a.none() = nb::none(), "names"_a.none() = nb::none(), "below"_a.none() = nb::none(),
        nb::sig(
            "def decode(paths: list[bytes], runs: collections.abc.Sequence[int], kinds: "
            "collections.abc.Sequence[str], "
            "select: collections.abc.Callable[[str], bool] | None, first_step: int, last_step: int, "
            "restarts: str, "
            "threads: int, block: int, split: int, defer: bool, "
            "progress: collections.abc.Callable[[int, int, int, int], object] | None, "
            "inflate: collections.abc.Callable[[bytes], bytes | None] | None, session_tables: bool = False, "
            "verify: bool = False, count: bool = False, general_only: bool = False, "
            "columns: collections.abc.Sequence[str] | None = None, "
            "ranges: collections.abc.Sequence[tuple[int, int]] | None = None, "
            "metadata: collections.abc.Sequence[dict[bytes, bytes] | None] | None = None, "
            "names: list[bytes] | None = None, "
            "below: collections.abc.Sequence[bool] | None = None) -> Result"),
        "Decode event files on several threads; files are ordered by `names`, if the paths are those of "
        "copies. `below` says which files are of a directory below their run's.");
}

}  // namespace tbq
