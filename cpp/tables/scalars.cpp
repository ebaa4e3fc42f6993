// Exports the scalars of a result as an Arrow stream: columns without a copy, and dictionary codes for run
// and tag.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "tables/arrow.hpp"
#include "tables/result_tables.hpp"

namespace tbq {
namespace {

// Makes the dictionary codes of batches. Batches that consist of one code share the same memory.
class CodeColumns {
 public:
  template <class CodeOf>
  Buffer make(const ScalarBatch& batch, CodeOf&& code_of) {
    const int32_t first = code_of(batch.stretches.front().series);
    bool constant = true;
    for (const ScalarBatch::Stretch& stretch : batch.stretches)
      constant = constant && code_of(stretch.series) == first;
    if (constant) {
      Filled& filled = filled_[first];
      if (filled.rows < batch.rows) filled = {fill(first, batch.rows), batch.rows};
      return filled.codes;
    }
    const Pool::Block memory = pool_.raw(batch.rows * sizeof(int32_t));
    auto* codes = reinterpret_cast<int32_t*>(memory.data);
    for (const ScalarBatch::Stretch& stretch : batch.stretches)
      codes = std::fill_n(codes, stretch.rows, code_of(stretch.series));
    return {memory.slab, memory.data};
  }

 private:
  struct Filled {
    Buffer codes;
    uint32_t rows = 0;
  };
  Buffer fill(int32_t code, uint32_t rows) {
    const Pool::Block memory = pool_.raw(rows * sizeof(int32_t));
    std::fill_n(reinterpret_cast<int32_t*>(memory.data), rows, code);
    return {memory.slab, memory.data};
  }
  Pool pool_;
  std::unordered_map<int32_t, Filled> filled_;
};

}  // namespace

void export_scalars(const Result& result, std::vector<ScalarBatch> scalars,
                    const std::vector<std::string>& runs, ArrowArrayStream* out) {
  const std::vector<SeriesReport>& series = result.series;
  std::vector<std::string_view> tags;
  for (const SeriesReport& report : series) {
    if (report.kind == Kind::scalars && report.rows > 0) tags.push_back(report.tag);
  }
  std::sort(tags.begin(), tags.end());
  tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
  std::vector<int32_t> codes(series.size());
  for (size_t i = 0; i < series.size(); ++i) {
    codes[i] = static_cast<int32_t>(std::lower_bound(tags.begin(), tags.end(), series[i].tag) - tags.begin());
  }
  const auto tag_names = tag_dictionary({tags.begin(), tags.end()});
  const auto run_names = string_dictionary(runs);

  const auto column = [](const char* name, const char* format) {
    Column plain;
    plain.name = name;
    plain.format = format;
    return plain;
  };
  Batch schema;
  const auto wanted = [&](ScalarColumn name) { return has(result.columns, name); };
  if (wanted(ScalarColumn::run)) schema.columns.push_back(dictionary_column("run", {}, 0, run_names));
  if (wanted(ScalarColumn::tag)) schema.columns.push_back(dictionary_column("tag", {}, 0, tag_names));
  if (wanted(ScalarColumn::step)) schema.columns.push_back(column("step", "l"));
  if (wanted(ScalarColumn::wall_time)) schema.columns.push_back(column("wall_time", "g"));
  if (wanted(ScalarColumn::value)) schema.columns.push_back(column("value", "g"));

  CodeColumns code_columns;
  std::vector<Batch> batches;
  for (const ScalarBatch& from : scalars) {
    const auto rows = static_cast<int64_t>(from.rows);
    Batch batch;
    batch.length = rows;
    if (wanted(ScalarColumn::run)) {
      Buffer run_codes =
          code_columns.make(from, [&](uint32_t index) { return static_cast<int32_t>(series[index].run); });
      batch.columns.push_back(dictionary_column("run", std::move(run_codes), rows, run_names));
    }
    if (wanted(ScalarColumn::tag)) {
      Buffer tag_codes = code_columns.make(from, [&](uint32_t index) { return codes[index]; });
      batch.columns.push_back(dictionary_column("tag", std::move(tag_codes), rows, tag_names));
    }
    const auto add = [&](const char* name, const char* format, const void* data) {
      Column plain = column(name, format);
      plain.length = rows;
      plain.buffers = {Buffer{}, Buffer{from.owner, data}};
      batch.columns.push_back(std::move(plain));
    };
    if (wanted(ScalarColumn::step)) add("step", "l", from.steps);
    if (wanted(ScalarColumn::wall_time)) add("wall_time", "g", from.wall_times);
    if (wanted(ScalarColumn::value)) add("value", "g", from.values);
    batches.push_back(std::move(batch));
  }
  export_stream(std::move(schema), std::move(batches), out);
}

}  // namespace tbq
