// Binds what the core answers about Arrow tables of any library.

#include <string>
#include <utility>
#include <vector>

#include "bind/bind.hpp"
#include "bind/capsules.hpp"
#include "tables/arrow_import.hpp"
#include "tables/run_totals.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tbq {
namespace {

nb::list formats(nb::handle schema) {
  const SchemaCapsule capsule(schema);
  nb::list columns;
  for (int64_t i = 0; i < (*capsule).n_children; ++i) {
    const ColumnFormat column = ColumnFormat::of(*(*capsule).children[i]);
    columns.append(nb::make_tuple(nb::str(column.format.data(), column.format.size()),
                                  nb::str(column.values.data(), column.values.size())));
  }
  return columns;
}

nb::list totals(nb::handle series, size_t runs) {
  const StreamCapsule stream(series);
  nb::list rows;
  for (const RunTotals& of_run : run_totals(*stream, runs)) {
    const auto step = [](int64_t value) { return value == RunTotals::kNone ? nb::none() : nb::cast(value); };
    nb::list tags;
    for (const std::string& tag : of_run.not_finite) tags.append(nb::str(tag.data(), tag.size()));
    rows.append(
        nb::make_tuple(of_run.events, step(of_run.max_step), step(of_run.last_step), of_run.pause, tags));
  }
  return rows;
}

}  // namespace

void bind_arrow(nb::module_& m) {
  m.def("formats", &formats, "schema"_a, nb::sig("def formats(schema: object) -> list[tuple[str, str]]"),
        "For each column of a schema, Arrow's format string of its type, and of its values if it is a "
        "dictionary.");
  m.def(
      "run_totals", &totals, "series"_a, "runs"_a,
      nb::sig("def run_totals(series: object, runs: int) -> "
              "list[tuple[int, int | None, int | None, float, list[str]]]"),
      "What the table of series says of each run: events, the largest step, the last step, the pause of the "
      "series that is logged most often, and the tags whose last value is not a finite number.");
}

}  // namespace tbq
