// Binds rewrite_run(result, …) to Python: one new event file from the sessions of a run.

#include "bind/bind.hpp"
#include "bind/gil.hpp"
#include "bind/options.hpp"
#include "rewrite/rewrite.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tbq {
namespace {

// The rules for all series of all runs, kept in the core.
class Rules {
 public:
  explicit Rules(const Result& survey) : rules_(survey.series.size()) {}
  void drop(size_t index) { at(index).drop = true; }
  void rename(size_t index, std::string tag) {
    SeriesRule& rule = at(index);
    rule.renamed = true;
    rule.tag = std::move(tag);
  }
  const std::vector<SeriesRule>& all() const { return rules_; }

 private:
  SeriesRule& at(size_t index) {
    if (index >= rules_.size()) throw nb::index_error("no such series");
    return rules_[index];
  }
  std::vector<SeriesRule> rules_;
};

RewriteReport rewrite(const Result& survey, nb::list paths, uint32_t run, const Rules& rules,
                      nb::object target, bool repair, int64_t first_step, int64_t last_step, int64_t offset,
                      uint64_t every, uint64_t max_points, bool resume, size_t block, nb::object progress,
                      bool general_only) {
  const std::vector<std::string> file_paths = paths_of(paths);
  if (file_paths.size() != survey.files.size() || rules.all().size() != survey.series.size()) {
    throw nb::value_error("paths and rules must match the survey");
  }
  std::string out;
  if (!target.is_none()) {
    const auto bytes = nb::cast<nb::bytes>(target);
    out.assign(bytes.c_str(), bytes.size());
  }
  RewriteOptions options;
  options.repair = repair;
  options.first_step = first_step;
  options.last_step = last_step;
  options.offset = offset;
  options.every = every < 1 ? 1 : every;
  options.max_points = max_points;
  options.resume = resume;
  options.block = block;
  options.general_only = general_only;
  options.tick = [&](uint64_t bytes) {
    in_python([&] {
      look_for_signals();
      if (!progress.is_none()) call(progress, bytes);
    });
    return true;
  };
  const Unlocked free;
  return rewrite_run(survey, file_paths, run, rules.all(), options, out);
}

}  // namespace

void bind_rewrite(nb::module_& m) {
  nb::class_<Rules>(m, "Rules", "The rule for each series of a survey, by its index.")
      .def(nb::init<const Result&>(), "survey"_a)
      .def("drop", &Rules::drop, "index"_a)
      .def(
          "rename",
          [](Rules& self, size_t index, const nb::bytes& tag) {
            self.rename(index, std::string(tag.c_str(), tag.size()));
          },
          "index"_a, "tag"_a);

  nb::class_<RewriteReport>(m, "RewriteReport",
                            "The counts of copied, changed and dropped records of one run.")
      .def_prop_ro("state", [](const RewriteReport& self) { return rewrite_state_name(self.state); })
      .def_ro("error", &RewriteReport::error)
      .def_ro("file", &RewriteReport::file)
      .def_ro("offset", &RewriteReport::offset)
      .def_ro("records_in", &RewriteReport::records_in)
      .def_ro("records_out", &RewriteReport::records_out)
      .def_ro("marks", &RewriteReport::marks)
      .def_ro("changed", &RewriteReport::changed)
      .def_ro("bytes_in", &RewriteReport::bytes_in)
      .def_ro("bytes_out", &RewriteReport::bytes_out)
      .def_ro("dropped_rule", &RewriteReport::dropped_rule)
      .def_ro("dropped_restart", &RewriteReport::dropped_restart)
      .def_ro("dropped_steps", &RewriteReport::dropped_steps)
      .def_ro("dropped_thinned", &RewriteReport::dropped_thinned)
      .def_ro("gone_bytes", &RewriteReport::lost_bytes)
      .def_ro("gone_places", &RewriteReport::lost_places)
      .def_prop_ro(
          "gone",
          [](const RewriteReport& self) {
            nb::list rows;
            for (const LostRange& range : self.lost) {
              rows.append(nb::make_tuple(range.file, fault_name(range.fault.code), range.fault.offset,
                                         range.fault.length));
            }
            return rows;
          },
          nb::sig("def gone(self, /) -> list[tuple[int, str, int, int]]"),
          "Damaged ranges that were left out: file, code, offset, length.");

  m.def("rewrite_run", &rewrite, "survey"_a, "paths"_a, "run"_a, "rules"_a, "target"_a.none(), nb::kw_only(),
        "repair"_a = false, "first_step"_a = INT64_MIN, "last_step"_a = INT64_MAX, "offset"_a = 0,
        "every"_a = 1, "max_points"_a = 0, "resume"_a = false, "block"_a = BlockReader::kBlock,
        "progress"_a = nb::none(), "general_only"_a = false,
        nb::sig(
            "def rewrite_run(survey: Result, paths: list[bytes], run: int, rules: Rules, target: bytes | "
            "None, *, "
            "repair: bool = False, first_step: int = ..., last_step: int = ..., offset: int = 0, every: "
            "int = 1, "
            "max_points: int = 0, resume: bool = False, block: int = ..., "
            "progress: collections.abc.Callable[[int], object] | None = None, general_only: bool = False) -> "
            "RewriteReport"),
        "Write the sessions of one run, in order, to a new file (or only report, if target is None).");
}

}  // namespace tbq
