// Names the kinds and maps plugins to kinds.
#include "event/kind.hpp"

#include <array>

namespace tbq {

const char* kind_name(Kind kind) {
  static constexpr std::array<const char*, kKindCount> names = {
      "scalars",   "tensors", "histograms", "images",       "audio",          "texts",  "hparams",
      "pr_curves", "meshes",  "graphs",     "run_metadata", "custom_scalars", "others", "logs"};
  return names[static_cast<size_t>(kind)];
}

const char* field_name(ValueField field) {
  static constexpr std::array<const char*, kFieldCount> names = {
      "none",   "simple_value", "old_histogram",  "image",        "histo",       "audio",
      "tensor", "graph_def",    "meta_graph_def", "run_metadata", "log_message", "session_log"};
  return names[static_cast<size_t>(field)];
}

Kind kind_of_plugin(std::string_view plugin) {
  struct Known {
    std::string_view name;
    Kind kind;
  };
  static constexpr Known known[] = {
      {"scalars", Kind::scalars},
      {"", Kind::tensors},
      {"tensor", Kind::tensors},
      {"histograms", Kind::histograms},
      {"images", Kind::images},
      {"audio", Kind::audio},
      {"text", Kind::texts},
      {"hparams", Kind::hparams},
      {"pr_curves", Kind::pr_curves},
      {"mesh", Kind::meshes},
      {"graphs", Kind::graphs},
      {"graph_keras_model", Kind::graphs},
      {"graph_run_metadata", Kind::run_metadata},
      {"graph_run_metadata_graph", Kind::run_metadata},
      {"custom_scalars", Kind::custom_scalars},
  };
  for (const Known& entry : known) {
    if (entry.name == plugin) return entry.kind;
  }
  return Kind::others;
}

Kind kind_of(ValueField field, std::string_view plugin) {
  static constexpr std::array<Kind, kFieldCount> kinds = {
      Kind::others, Kind::scalars, Kind::others, Kind::images,       Kind::histograms, Kind::audio,
      Kind::others, Kind::graphs,  Kind::graphs, Kind::run_metadata, Kind::logs,       Kind::logs};
  const bool by_plugin =
      field == ValueField::none ? !plugin.empty() && plugin != "scalars" : field == ValueField::tensor;
  return by_plugin ? kind_of_plugin(plugin) : kinds[static_cast<size_t>(field)];
}

}  // namespace tbq
