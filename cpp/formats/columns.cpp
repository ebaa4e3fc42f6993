// Appends row by row, because an event has one step and one time.
#include "formats/columns.hpp"

#include <algorithm>

namespace tbq {

bool Columns::is_rectangular() const {
  const size_t rows = steps.size();
  const auto fits = [&](const auto& column) { return column.size() == rows; };
  return wall_times.size() == rows && values.size() == tags.size() && present.size() == tags.size() &&
         std::ranges::all_of(values, fits) && std::ranges::all_of(present, fits);
}

void append_columns(const Columns& columns, EventBuffer& out) {
  std::vector<Scalar> scalars;
  for (size_t row = 0; row < columns.steps.size(); ++row) {
    scalars.clear();
    for (size_t column = 0; column < columns.tags.size(); ++column) {
      if (columns.present[column][row] == 0) continue;
      scalars.push_back(
          {columns.tags[column], ScalarStyle::tensor_double, columns.values[column][row], 0, {}});
    }
    if (!scalars.empty()) out.scalars(scalars, {columns.wall_times[row], columns.steps[row], true});
  }
}

}  // namespace tbq
