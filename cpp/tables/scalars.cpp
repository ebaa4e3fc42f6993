// The scalars of a result as an Arrow stream: the columns as they are, and dictionary codes for run and tag.
#include <algorithm>
#include <unordered_map>

#include "decode/decode.hpp"

namespace tbq {
namespace {

// Makes the dictionary codes of batches. A code that fills a whole batch is written once for all such
// batches.
class CodeColumns {
 public:
  template <class CodeOf>
  Buffer make(const ScalarBatch& batch, CodeOf&& code_of) {
    const int32_t first = code_of(batch.spans.front().series);
    bool constant = true;
    for (const ScalarBatch::Span& span : batch.spans) constant = constant && code_of(span.series) == first;
    if (constant) {
      Filled& filled = filled_[first];
      if (filled.rows < batch.rows) filled = {fill(first, batch.rows), batch.rows};
      return filled.codes;
    }
    const Pool::Block memory = pool_.raw(batch.rows * sizeof(int32_t));
    auto* codes = reinterpret_cast<int32_t*>(memory.data);
    for (const ScalarBatch::Span& span : batch.spans)
      codes = std::fill_n(codes, span.rows, code_of(span.series));
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

uint64_t Result::scalar_rows() const {
  uint64_t rows = 0;
  for (const ScalarBatch& batch : scalars) rows += batch.rows;
  return rows;
}

std::vector<std::string> Result::tags(Kind kind) const {
  std::vector<std::string> names;
  for (const SeriesReport& one : series) {
    if (one.kind == kind) names.push_back(display_name(one.tag));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void Result::export_scalars(const std::vector<std::string>& runs, ArrowArrayStream* out) {
  std::vector<std::string_view> tags;
  for (const SeriesReport& one : series) {
    if (one.kind == Kind::scalars && one.rows > 0) tags.push_back(one.tag);
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
    Column made;
    made.name = name;
    made.format = format;
    return made;
  };
  Batch schema;
  const auto wanted = [&](ScalarColumn one) { return has(columns, one); };
  if (wanted(ScalarColumn::run)) schema.columns.push_back(dictionary_column("run", {}, 0, run_names));
  if (wanted(ScalarColumn::tag)) schema.columns.push_back(dictionary_column("tag", {}, 0, tag_names));
  if (wanted(ScalarColumn::step)) schema.columns.push_back(column("step", "l"));
  if (wanted(ScalarColumn::wall_time)) schema.columns.push_back(column("wall_time", "g"));
  if (wanted(ScalarColumn::value)) schema.columns.push_back(column("value", "g"));

  CodeColumns code_columns;
  std::vector<Batch> batches;
  for (ScalarBatch& from : scalars) {
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
      Column made = column(name, format);
      made.length = rows;
      made.buffers = {Buffer{}, Buffer{from.owner, data}};
      batch.columns.push_back(std::move(made));
    };
    if (wanted(ScalarColumn::step)) add("step", "l", from.steps);
    if (wanted(ScalarColumn::wall_time)) add("wall_time", "g", from.walls);
    if (wanted(ScalarColumn::value)) add("value", "g", from.values);
    batches.push_back(std::move(batch));
  }
  scalars.clear();
  export_stream(std::move(schema), std::move(batches), out);
}

}  // namespace tbq
