// The field numbers of the messages in an event file, by message: tensorflow/core/util/event.proto, the
// protos it refers to, and the protos of TensorBoard's plugins.
#pragma once

#include <cstdint>

#include "bytes/cursor.hpp"

namespace tbq::schema {

// The key of a field on the wire: one byte, for field numbers up to 15.
constexpr uint8_t key(uint32_t number, Wire wire) {
  return static_cast<uint8_t>(number << 3 | static_cast<uint32_t>(wire));
}

struct Event {
  static constexpr uint32_t wall_time = 1;  // double
  static constexpr uint32_t step = 2;
  static constexpr uint32_t file_version = 3;
  static constexpr uint32_t graph_def = 4;
  static constexpr uint32_t summary = 5;
  static constexpr uint32_t log_message = 6;
  static constexpr uint32_t session_log = 7;
  static constexpr uint32_t tagged_run_metadata = 8;
  static constexpr uint32_t meta_graph_def = 9;
  static constexpr uint32_t source_metadata = 10;
  static constexpr uint32_t end = 1000;  // of tbq's writer; TensorBoard's Event has no such field
};
// How a writer ended; in an event of its own.
struct End {
  static constexpr uint32_t status = 1;   // a Status of the hparams plugin
  static constexpr uint32_t message = 2;  // the error
};
struct SourceMetadata {
  static constexpr uint32_t writer = 1;
};
struct TaggedRunMetadata {
  static constexpr uint32_t tag = 1;
  static constexpr uint32_t run_metadata = 2;
};
struct LogMessage {
  static constexpr uint32_t level = 1;
  static constexpr uint32_t message = 2;
};
struct SessionLog {
  static constexpr uint32_t status = 1;
  static constexpr uint32_t checkpoint_path = 2;
  static constexpr uint32_t message = 3;
  static constexpr uint64_t start = 1;  // values of `status`
  static constexpr uint64_t stop = 2;
};

struct Summary {
  static constexpr uint32_t value = 1;
};
struct Value {
  static constexpr uint32_t tag = 1;
  static constexpr uint32_t simple_value = 2;  // float
  static constexpr uint32_t old_histogram = 3;
  static constexpr uint32_t image = 4;
  static constexpr uint32_t histo = 5;
  static constexpr uint32_t audio = 6;
  static constexpr uint32_t node_name = 7;
  static constexpr uint32_t tensor = 8;
  static constexpr uint32_t metadata = 9;
};
struct SummaryMetadata {
  static constexpr uint32_t plugin_data = 1;
  static constexpr uint32_t display_name = 2;
  static constexpr uint32_t description = 3;
  static constexpr uint32_t data_class = 4;
};
struct PluginData {
  static constexpr uint32_t plugin_name = 1;
  static constexpr uint32_t content = 2;
};
struct Image {
  static constexpr uint32_t height = 1;
  static constexpr uint32_t width = 2;
  static constexpr uint32_t colorspace = 3;
  static constexpr uint32_t encoded = 4;
};
struct Audio {
  static constexpr uint32_t sample_rate = 1;  // float
  static constexpr uint32_t channels = 2;
  static constexpr uint32_t frames = 3;
  static constexpr uint32_t encoded = 4;
  static constexpr uint32_t content_type = 5;
};
struct Histogram {
  static constexpr uint32_t min = 1;
  static constexpr uint32_t max = 2;
  static constexpr uint32_t num = 3;
  static constexpr uint32_t sum = 4;
  static constexpr uint32_t sum_squares = 5;
  static constexpr uint32_t bucket_limit = 6;
  static constexpr uint32_t bucket = 7;
};

struct Tensor {
  static constexpr uint32_t dtype = 1;
  static constexpr uint32_t shape = 2;
  static constexpr uint32_t content = 4;
  static constexpr uint32_t float_val = 5;
  static constexpr uint32_t double_val = 6;
  static constexpr uint32_t int_val = 7;
  static constexpr uint32_t string_val = 8;
  static constexpr uint32_t scomplex_val = 9;
  static constexpr uint32_t int64_val = 10;
  static constexpr uint32_t bool_val = 11;
  static constexpr uint32_t dcomplex_val = 12;
  static constexpr uint32_t half_val = 13;
  static constexpr uint32_t uint32_val = 16;
  static constexpr uint32_t uint64_val = 17;
  static constexpr uint32_t float8_val = 18;
};
struct TensorShape {
  static constexpr uint32_t dim = 2;
  static constexpr uint32_t unknown_rank = 3;
};
struct Dim {
  static constexpr uint32_t size = 1;
};

struct GraphDef {
  static constexpr uint32_t node = 1;
  static constexpr uint32_t library = 2;
};
struct MetaGraphDef {
  static constexpr uint32_t graph_def = 2;
};
struct FunctionLibrary {
  static constexpr uint32_t function = 1;
};
struct FunctionDef {
  static constexpr uint32_t signature = 1;
  static constexpr uint32_t node = 3;
};
struct OpDef {
  static constexpr uint32_t name = 1;
};
struct NodeDef {
  static constexpr uint32_t name = 1;
  static constexpr uint32_t op = 2;
  static constexpr uint32_t input = 3;
  static constexpr uint32_t device = 4;
};

struct MeshPluginData {
  static constexpr uint32_t name = 2;
  static constexpr uint32_t content_type = 3;
  static constexpr uint32_t json_config = 5;
};

// tensorboard/plugins/custom_scalar/layout.proto
struct Layout {
  static constexpr uint32_t category = 2;
};
struct LayoutCategory {
  static constexpr uint32_t title = 1;
  static constexpr uint32_t chart = 2;
};
struct LayoutChart {
  static constexpr uint32_t title = 1;
  static constexpr uint32_t multiline = 2;
  static constexpr uint32_t margin = 3;
};
struct MultilineChart {
  static constexpr uint32_t tag = 1;
};
struct MarginChart {
  static constexpr uint32_t series = 1;
};
struct MarginSeries {
  static constexpr uint32_t value = 1;
  static constexpr uint32_t lower = 2;
  static constexpr uint32_t upper = 3;
};

// tensorboard/plugins/hparams/plugin_data.proto and api.proto
struct HparamsPluginData {
  static constexpr uint32_t experiment = 2;
  static constexpr uint32_t session_start_info = 3;
  static constexpr uint32_t session_end_info = 4;
};
struct Experiment {
  static constexpr uint32_t hparam_infos = 4;
  static constexpr uint32_t metric_infos = 5;
};
struct SessionStartInfo {
  static constexpr uint32_t hparams = 1;
  static constexpr uint32_t group_name = 4;
};
struct SessionEndInfo {
  static constexpr uint32_t status = 1;
  static constexpr uint64_t success = 1;  // values of `status`
  static constexpr uint64_t failure = 2;
};
struct MetricInfo {
  static constexpr uint32_t name = 1;
  static constexpr uint32_t display_name = 3;
  static constexpr uint32_t description = 4;
  static constexpr uint32_t dataset_type = 5;
};
struct MetricName {
  static constexpr uint32_t group = 1;
  static constexpr uint32_t tag = 2;
};
struct HparamInfo {
  static constexpr uint32_t name = 1;
  static constexpr uint32_t display_name = 2;
  static constexpr uint32_t description = 3;
  static constexpr uint32_t type = 4;
  static constexpr uint32_t domain_discrete = 5;
  static constexpr uint32_t domain_interval = 6;
};
struct Interval {
  static constexpr uint32_t min_value = 1;
  static constexpr uint32_t max_value = 2;
};

// google/protobuf/struct.proto; an entry of any map has a key and a value.
struct StructValue {
  static constexpr uint32_t null_value = 1;
  static constexpr uint32_t number_value = 2;
  static constexpr uint32_t string_value = 3;
  static constexpr uint32_t bool_value = 4;
  static constexpr uint32_t struct_value = 5;
  static constexpr uint32_t list_value = 6;
};
struct Struct {
  static constexpr uint32_t fields = 1;
};
struct ListValue {
  static constexpr uint32_t values = 1;
};
struct MapEntry {
  static constexpr uint32_t key = 1;
  static constexpr uint32_t value = 2;
};

}  // namespace tbq::schema
