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
  // wall_time is a double. Only tbq's writer writes `end`; TensorBoard's Event has no such field.
  static constexpr uint32_t wall_time = 1, step = 2, file_version = 3, graph_def = 4, summary = 5,
                            log_message = 6, session_log = 7, tagged_run_metadata = 8, meta_graph_def = 9,
                            source_metadata = 10, end = 1000;
};
// How a writer ended; in an event of its own.
struct End {
  // status is a Status of the hparams plugin; message is the error.
  static constexpr uint32_t status = 1, message = 2;
};
struct SourceMetadata {
  static constexpr uint32_t writer = 1;
};
struct TaggedRunMetadata {
  static constexpr uint32_t tag = 1, run_metadata = 2;
};
struct LogMessage {
  static constexpr uint32_t level = 1, message = 2;
};
struct SessionLog {
  static constexpr uint32_t status = 1, checkpoint_path = 2, message = 3;
  // Values of `status`:
  static constexpr uint64_t start = 1, stop = 2;
};

struct Summary {
  static constexpr uint32_t value = 1;
};
struct Value {
  // simple_value is a float.
  static constexpr uint32_t tag = 1, simple_value = 2, old_histogram = 3, image = 4, histo = 5, audio = 6,
                            node_name = 7, tensor = 8, metadata = 9;
};
struct SummaryMetadata {
  static constexpr uint32_t plugin_data = 1, display_name = 2, description = 3, data_class = 4;
};
struct PluginData {
  static constexpr uint32_t plugin_name = 1, content = 2;
};
struct Image {
  static constexpr uint32_t height = 1, width = 2, colorspace = 3, encoded = 4;
};
struct Audio {
  // sample_rate is a float.
  static constexpr uint32_t sample_rate = 1, channels = 2, frames = 3, encoded = 4, content_type = 5;
};
struct Histogram {
  static constexpr uint32_t min = 1, max = 2, num = 3, sum = 4, sum_squares = 5, bucket_limit = 6, bucket = 7;
};

struct Tensor {
  static constexpr uint32_t dtype = 1, shape = 2, content = 4, float_val = 5, double_val = 6, int_val = 7,
                            string_val = 8, scomplex_val = 9, int64_val = 10, bool_val = 11,
                            dcomplex_val = 12, half_val = 13, uint32_val = 16, uint64_val = 17,
                            float8_val = 18;
};
struct TensorShape {
  static constexpr uint32_t dim = 2, unknown_rank = 3;
};
struct Dim {
  static constexpr uint32_t size = 1;
};

struct GraphDef {
  static constexpr uint32_t node = 1, library = 2;
};
struct MetaGraphDef {
  static constexpr uint32_t graph_def = 2;
};
struct FunctionLibrary {
  static constexpr uint32_t function = 1;
};
struct FunctionDef {
  static constexpr uint32_t signature = 1, node = 3;
};
struct OpDef {
  static constexpr uint32_t name = 1;
};
struct NodeDef {
  static constexpr uint32_t name = 1, op = 2, input = 3, device = 4;
};

struct MeshPluginData {
  static constexpr uint32_t name = 2, content_type = 3, json_config = 5;
};

// tensorboard/plugins/custom_scalar/layout.proto
struct Layout {
  static constexpr uint32_t category = 2;
};
struct LayoutCategory {
  static constexpr uint32_t title = 1, chart = 2;
};
struct LayoutChart {
  static constexpr uint32_t title = 1, multiline = 2, margin = 3;
};
struct MultilineChart {
  static constexpr uint32_t tag = 1;
};
struct MarginChart {
  static constexpr uint32_t series = 1;
};
struct MarginSeries {
  static constexpr uint32_t value = 1, lower = 2, upper = 3;
};

// tensorboard/plugins/hparams/plugin_data.proto and api.proto
struct HparamsPluginData {
  static constexpr uint32_t experiment = 2, session_start_info = 3, session_end_info = 4;
};
struct Experiment {
  static constexpr uint32_t hparam_infos = 4, metric_infos = 5;
};
struct SessionStartInfo {
  static constexpr uint32_t hparams = 1, group_name = 4;
};
struct SessionEndInfo {
  static constexpr uint32_t status = 1;
  // Values of `status`:
  static constexpr uint64_t success = 1, failure = 2;
};
struct MetricInfo {
  static constexpr uint32_t name = 1, display_name = 3, description = 4, dataset_type = 5;
};
struct MetricName {
  static constexpr uint32_t group = 1, tag = 2;
};
struct HparamInfo {
  static constexpr uint32_t name = 1, display_name = 2, description = 3, type = 4, domain_discrete = 5,
                            domain_interval = 6;
};
struct Interval {
  static constexpr uint32_t min_value = 1, max_value = 2;
};

// google/protobuf/struct.proto; an entry of any map has a key and a value.
struct StructValue {
  static constexpr uint32_t null_value = 1, number_value = 2, string_value = 3, bool_value = 4,
                            struct_value = 5, list_value = 6;
};
struct Struct {
  static constexpr uint32_t fields = 1;
};
struct ListValue {
  static constexpr uint32_t values = 1;
};
struct MapEntry {
  static constexpr uint32_t key = 1, value = 2;
};

}  // namespace tbq::schema
