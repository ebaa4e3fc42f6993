// Exports retracted rows as an Arrow table.
#include "live/retracted.hpp"

#include "bytes/names.hpp"
#include "tables/row_table.hpp"

namespace tbq {

void export_retracted(const std::vector<RetractedRow>& retracted, ArrowArrayStream* out) {
  export_rows(
      retracted,
      [](RowTable& rows, const RetractedRow& row) {
        rows.put("run", row.run);
        rows.put("tag", display_name(row.tag));
        rows.put("kind", kind_name(row.kind));
        rows.put("step", row.step);
        rows.put("wall_time", row.wall_time);
        rows.put("value", row.kind == Kind::scalars ? std::optional(row.value) : std::nullopt);
      },
      out);
}

}  // namespace tbq
