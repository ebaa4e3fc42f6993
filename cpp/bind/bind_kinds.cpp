// Binds to Python the tables of every kind except scalars, made from a decoded Result.

#include "bind/bind.hpp"
#include "bind/gil.hpp"
#include "bind/options.hpp"
#include "bind/stream.hpp"
#include "bytes/names.hpp"
#include "tables/kinds.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tbq {
namespace {

const TableKind& table_named(const std::string& name) {
  const TableKind* table = table_kind(name);
  if (!table) throw nb::value_error(("unknown table of values: " + name).c_str());
  return *table;
}

using Indices = std::optional<std::vector<uint32_t>>;
using Names = std::optional<std::vector<std::string>>;

Stream make_stream(Result& result, const TableKind& table, const std::vector<std::string>& runs,
                   const Indices& rows, const Names& columns) {
  if (!result.value_problems) result.value_problems = std::make_shared<ValueProblems>();
  Stream stream;
  const Unlocked free;
  export_table(result, table, runs, rows ? &*rows : nullptr, columns ? &*columns : nullptr,
               result.value_problems, stream.get());
  return stream;
}

Stream make_table(Result& result, const std::string& name, const std::vector<std::string>& runs,
                  const Indices& rows, const Names& columns) {
  return make_stream(result, table_named(name), runs, rows, columns);
}

Stream make_keys(const Result& result, const std::string& name, const std::vector<std::string>& runs) {
  const TableKind& table = table_named(name);
  Stream stream;
  const Unlocked free;
  export_keys(result, table.kind, runs, stream.get());
  return stream;
}

Kind values_kind(const std::string& name) {
  const Kind kind = kind_named(name);
  if (kind == Kind::scalars || kind == Kind::histograms)
    throw nb::value_error("scalars and histograms are not kept as they were logged");
  return kind;
}

Stream make_as_logged(Result& result, const std::string& kind, const std::vector<std::string>& runs,
                      const Indices& rows) {
  return make_stream(result, as_logged(values_kind(kind)), runs, rows, {});
}

nb::tuple drain_problems(const Result& result) {
  uint64_t more = 0;
  nb::list listed;
  if (result.value_problems) {
    for (const ValueProblem& problem : result.value_problems->drain(more)) {
      listed.append(nb::make_tuple(problem.code, problem.run, display_name(problem.tag), problem.step,
                                   problem.file, problem.offset, problem.message));
    }
  }
  return nb::make_tuple(listed, more);
}

}  // namespace

void bind_kinds(nb::module_& m) {
  m.def("tables", &table_names, "The names of the tables of values.");
  m.def(
      "kind_of_table", [](const std::string& name) { return kind_name(table_named(name).kind); }, "name"_a,
      "The kind of a table's values.");
  m.def("table", &make_table, "result"_a, "name"_a, "runs"_a, "rows"_a.none() = nb::none(),
        "columns"_a.none() = nb::none(),
        nb::sig("def table(result: Result, name: str, runs: collections.abc.Sequence[str], "
                "rows: collections.abc.Sequence[int] | None = None, "
                "columns: collections.abc.Sequence[str] | None = None) -> Stream"),
        "A table of values as an Arrow stream, made batch by batch. `rows` are indices into `keys`; only "
        "`columns` are filled.");
  m.def("keys", &make_keys, "result"_a, "name"_a, "runs"_a,
        "The keys of a table's values, without reading these: run, tag, step, wall_time, bytes.");
  m.def("as_logged", &make_as_logged, "result"_a, "kind"_a, "runs"_a, "rows"_a.none() = nb::none(),
        nb::sig("def as_logged(result: Result, kind: str, runs: collections.abc.Sequence[str], "
                "rows: collections.abc.Sequence[int] | None = None) -> Stream"),
        "Values of any kind except scalars and histograms, as logged: the columns of the table "
        "`others`.");
  m.def(
      "blob_lengths",
      [](const Result& result, const std::string& kind) {
        const Unlocked free;
        return blob_lengths(result, values_kind(kind));
      },
      "result"_a, "kind"_a,
      "The number of blobs that TensorBoard makes of each value of a kind; -1 if it cannot be read.");
  m.def(
      "value_problems", &drain_problems, "result"_a,
      nb::sig(
          "def value_problems(result: Result) -> tuple[list[tuple[str, int, str, int, int, int, str]], int]"),
      "The problems with values since the last call: code, run, tag, step, file, offset, message; and how "
      "many more were only counted.");
}

}  // namespace tbq
