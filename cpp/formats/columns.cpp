// Appends row by row, because an event has one step and one time.
#include "formats/columns.hpp"

#include <algorithm>

namespace tbq {

bool EventColumns::is_rectangular() const {
  const size_t rows = steps.size();
  const auto fits = [&](const auto& column) { return column.size() == rows; };
  return wall_times.size() == rows && values.size() == tags.size() && present.size() == tags.size() &&
         std::ranges::all_of(values, fits) && std::ranges::all_of(present, fits);
}

void append_columns(const EventColumns& columns, ScalarStyle style, EventBuffer& out) {
  std::vector<Scalar> scalars;
  for (size_t row = 0; row < columns.steps.size(); ++row) {
    scalars.clear();
    for (size_t column = 0; column < columns.tags.size(); ++column) {
      if (columns.present[column][row] == 0) continue;
      scalars.push_back({columns.tags[column], style, columns.values[column][row], 0, {}});
    }
    if (!scalars.empty()) out.scalars(scalars, {columns.wall_times[row], columns.steps[row], true});
  }
}

bool Rows::is_sound() const {
  const size_t count = codes.size();
  const auto known = [&](int32_t code) { return code >= 0 && static_cast<size_t>(code) < tags.size(); };
  return steps.size() == count && wall_times.size() == count && values.size() == count &&
         std::ranges::all_of(codes, known);
}

void append_rows(const Rows& rows, ScalarStyle style, EventBuffer& out) {
  for (size_t i = 0; i < rows.codes.size(); ++i) {
    const std::string_view tag = rows.tags[static_cast<size_t>(rows.codes[i])];
    if (!tag.empty())
      out.scalar({tag, style, rows.values[i], 0, {}}, {rows.wall_times[i], rows.steps[i], true});
  }
}

}  // namespace tbq
