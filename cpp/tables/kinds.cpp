// Lists the tables and exports the keys of their values.
#include "tables/kinds.hpp"

#include "event/tensor.hpp"
#include "tables/value_loader.hpp"

namespace tbq {
namespace {

constexpr TableKind kTables[] = {
    {"tensors", Kind::tensors, make_tensors},
    {"histograms", Kind::histograms, make_histograms},
    {"images", Kind::images, make_images},
    {"audio", Kind::audio, make_audio},
    {"texts", Kind::texts, make_texts},
    {"hparams", Kind::hparams, make_hparams},
    {"hparam_metrics", Kind::hparams, make_hparam_metrics},
    {"hparam_domains", Kind::hparams, make_hparam_domains},
    {"pr_curves", Kind::pr_curves, make_pr_curves},
    {"meshes", Kind::meshes, make_meshes},
    {"graphs", Kind::graphs, make_graphs},
    {"nodes", Kind::graphs, make_nodes},
    {"run_metadata", Kind::run_metadata, make_run_metadata},
    {"custom_scalars", Kind::custom_scalars, make_custom_scalars},
    {"others", Kind::others, make_others},
    {"logs", Kind::logs, make_logs},
};

}  // namespace

const TableKind* table_kind(std::string_view name) {
  for (const TableKind& table : kTables) {
    if (name == table.name) return &table;
  }
  return nullptr;
}

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const TableKind& table : kTables) names.emplace_back(table.name);
  return names;
}

TableKind as_logged(Kind kind) { return {"as_logged", kind, make_others}; }

std::vector<int64_t> blob_lengths(const Result& result, Kind kind) {
  constexpr size_t kHead = 1024;
  std::vector<int64_t> lengths;
  const auto& rows = result.blobs[static_cast<size_t>(kind)];
  if (!rows) return lengths;
  ValueLoader loader(result.files);
  lengths.reserve(rows->size());
  for (const BlobRow& row : *rows) {
    if (row.field != ValueField::tensor) {
      lengths.push_back(row.field == ValueField::image ? 3 : 1);  // width, height and the image itself
      continue;
    }
    TensorView tensor = read_tensor_head(loader.head(row, kHead));
    const char* what = nullptr;
    if (!tensor.ok()) tensor = read_tensor(loader.load(row, what));
    if (what || !tensor.ok()) {
      lengths.push_back(-1);
    } else if (kind == Kind::audio && tensor.rank > 0) {
      lengths.push_back(tensor.dims[0]);  // the other columns are labels
    } else {
      lengths.push_back(static_cast<int64_t>(tensor.count));
    }
  }
  return lengths;
}

void export_keys(const Result& result, Kind kind, const std::vector<std::string>& runs,
                 ArrowArrayStream* out) {
  static const BlobTable none;
  const auto& held = result.blobs[static_cast<size_t>(kind)];
  const BlobTable& rows = held ? *held : none;
  std::vector<std::string> tags;
  std::vector<int32_t> places(result.series.size(), -1);
  FixedBuilder<int32_t> run, tag;
  FixedBuilder<int64_t> step, bytes;
  FixedBuilder<double> wall_time;
  for (const BlobRow& row : rows) {
    if (places[row.tag] < 0) {
      places[row.tag] = static_cast<int32_t>(tags.size());
      tags.push_back(result.series[row.tag].tag);
    }
    run.append(static_cast<int32_t>(row.run));
    tag.append(places[row.tag]);
    step.append(row.step);
    wall_time.append(row.wall_time);
    bytes.append(static_cast<int64_t>(row.payload_length));
  }
  Batch batch;
  batch.length = static_cast<int64_t>(rows.size());
  batch.columns.push_back(run.finish("run"));
  batch.columns.back().dictionary = string_dictionary(runs);
  batch.columns.push_back(tag.finish("tag"));
  batch.columns.back().dictionary = tag_dictionary(tags);
  batch.columns.push_back(step.finish("step"));
  batch.columns.push_back(wall_time.finish("wall_time"));
  batch.columns.push_back(bytes.finish("bytes"));
  export_batch(std::move(batch), out);
}

}  // namespace tbq
