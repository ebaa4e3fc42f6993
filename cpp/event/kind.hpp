// The kinds of values: the field that held a value, and the table it belongs to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tbq {

// The tables of values. A Kinds mask has bit `1 << kind`.
enum class Kind : uint8_t {
  scalars,
  tensors,
  histograms,
  images,
  audio,
  texts,
  hparams,
  pr_curves,
  meshes,
  graphs,
  run_metadata,
  custom_scalars,
  others,
  logs,
};
constexpr size_t kKindCount = 14;
using Kinds = uint32_t;
constexpr Kinds bit(Kind kind) { return 1U << static_cast<unsigned>(kind); }
constexpr Kinds kEveryKind = (1U << kKindCount) - 1;
const char* kind_name(Kind kind);

// The field of Summary.Value, or of Event, that held a value.
enum class ValueField : uint8_t {
  none,  // a Value with a tag and perhaps metadata, but without content
  simple_value,
  old_histogram,
  image,
  histo,
  audio,
  tensor,
  graph_def,
  meta_graph_def,
  run_metadata,
  log_message,
  session_log,
};

constexpr size_t kFieldCount = 12;
const char* field_name(ValueField field);

// The tag that tables show for a value stored in the Event itself; "" for all other values.
inline std::string_view untagged_name(ValueField field) {
  const bool in_event = field >= ValueField::graph_def && field != ValueField::run_metadata;
  return in_event ? field_name(field) : "";
}

// The kind of a tensor (or of a Value without content) that this plugin logged; "" for no plugin.
Kind kind_of_plugin(std::string_view plugin);
// The kind of a value: by the field that held it, and for `tensor` and `none` by the plugin.
Kind kind_of(ValueField field, std::string_view plugin);

}  // namespace tbq
