// Computes the totals of runs from the columns of a table of series.
#include "tables/run_totals.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <tuple>

#include "tables/arrow_import.hpp"

namespace tbq {
namespace {

void check(ArrowArrayStream& stream, int error) {
  if (error == 0) return;
  const char* why = stream.get_last_error(&stream);
  throw std::runtime_error(why == nullptr ? "the stream of series failed" : why);
}

// The place of a column with this name and format.
size_t place_of(const ArrowSchema& table, std::string_view name, std::string_view format) {
  for (int64_t i = 0; i < table.n_children; ++i) {
    const ColumnFormat column = ColumnFormat::of(*table.children[i]);
    if (column.name == name && column.format == format) return static_cast<size_t>(i);
  }
  throw std::invalid_argument("series: want a column " + std::string(name) + " of the format " +
                              std::string(format));
}

template <class T>
const T* values(const ArrowArray& batch, size_t place) {
  const ArrowArray& column = *batch.children[place];
  return static_cast<const T*>(column.buffers[1]) + column.offset + batch.offset;
}

struct Frequency {
  int64_t count, last_step;
  bool operator<(const Frequency& other) const {
    return std::tie(count, last_step) < std::tie(other.count, other.last_step);
  }
};

}  // namespace

std::vector<RunTotals> run_totals(ArrowArrayStream& series, size_t runs) {
  ArrowSchema described{};
  check(series, series.get_schema(&series, &described));
  const Imported<ArrowSchema> schema(&described);
  const size_t run = place_of(*schema, "run", "i"), tag = place_of(*schema, "tag", "U"),
               count = place_of(*schema, "count", "l"), max_step = place_of(*schema, "max_step", "l"),
               last_step = place_of(*schema, "last_step", "l"),
               last_value = place_of(*schema, "last_value", "g"), pause = place_of(*schema, "pause", "g");
  std::vector<RunTotals> totals(runs);
  std::vector<std::optional<Frequency>> most(runs);
  for (;;) {
    ArrowArray next{};
    check(series, series.get_next(&series, &next));
    if (next.release == nullptr) return totals;
    const Imported<ArrowArray> batch(&next);
    const auto* const runs_of = values<int32_t>(*batch, run);
    const auto* const counts = values<int64_t>(*batch, count);
    const auto* const max_steps = values<int64_t>(*batch, max_step);
    const auto* const last_steps = values<int64_t>(*batch, last_step);
    const auto* const last_values = values<double>(*batch, last_value);
    const auto* const pauses = values<double>(*batch, pause);
    const auto* const ends = values<int64_t>(*batch, tag);
    const auto* const names = static_cast<const char*>(batch->children[tag]->buffers[2]);
    for (int64_t i = 0; i < batch->length; ++i) {
      const auto at = static_cast<size_t>(runs_of[i]);
      if (at >= runs) throw std::invalid_argument("series: a run without a name");
      RunTotals& of_run = totals[at];
      if (counts[i] > 0) {
        of_run.events += counts[i];
        of_run.max_step = std::max(of_run.max_step, max_steps[i]);
        of_run.last_step = std::max(of_run.last_step, last_steps[i]);
        if (!std::isfinite(last_values[i])) {
          of_run.not_finite.emplace_back(names + ends[i], static_cast<size_t>(ends[i + 1] - ends[i]));
        }
      }
      // Of series that were logged equally often, the one that went furthest counts, and then the first.
      const Frequency frequency{counts[i], last_steps[i]};
      if (pauses[i] > 0 && (!most[at] || *most[at] < frequency)) {
        most[at] = frequency;
        of_run.pause = pauses[i];
      }
    }
  }
}

}  // namespace tbq
