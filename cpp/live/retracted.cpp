// Exports retracted rows as an Arrow table.
#include "live/retracted.hpp"

#include "bytes/names.hpp"
#include "tables/builders.hpp"

namespace tbq {

void export_retracted(const std::vector<RetractedRow>& rows, ArrowArrayStream* out) {
  BytesBuilder run("U"), tag("U"), kind("U");
  FixedBuilder<int64_t> step;
  FixedBuilder<double> wall_time, value;
  for (const RetractedRow& row : rows) {
    run.append(row.run);
    tag.append(display_name(row.tag));
    kind.append(kind_name(row.kind));
    step.append(row.step);
    wall_time.append(row.wall_time);
    if (row.kind == Kind::scalars) {
      value.append(row.value);
    } else {
      value.append_null();
    }
  }
  Batch batch;
  batch.length = static_cast<int64_t>(rows.size());
  batch.columns.push_back(run.finish("run"));
  batch.columns.push_back(tag.finish("tag"));
  batch.columns.push_back(kind.finish("kind"));
  batch.columns.push_back(step.finish("step"));
  batch.columns.push_back(wall_time.finish("wall_time"));
  batch.columns.push_back(value.finish("value"));
  Batch schema = batch;
  std::vector<Batch> batches;
  batches.push_back(std::move(batch));
  export_stream(std::move(schema), std::move(batches), out);
}

}  // namespace tbq
