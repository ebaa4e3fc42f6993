// Arbitrary bytes as the value of every kind: tensors, protobufs of plugins, images, audio, through every table.
#include <cstdlib>

#include "tbq/kinds.hpp"
#include "tbq/tensor.hpp"

namespace {

using tbq::BlobRow;
using tbq::Form;

// Reads the stream to its end, as a consumer would.
void drain(ArrowArrayStream& stream) {
  ArrowSchema schema{};
  if (stream.get_schema(&stream, &schema) == 0) schema.release(&schema);
  for (;;) {
    ArrowArray array{};
    if (stream.get_next(&stream, &array) != 0 || !array.release) break;
    for (int64_t i = 0; i < array.n_children; ++i) {
      const ArrowArray& column = *array.children[i];
      if (column.length != array.length) std::abort();
      if (column.n_children == 1 && column.n_buffers == 2) {  // lists: the last offset is the child's length
        const auto* offsets = static_cast<const int32_t*>(column.buffers[1]);
        if (offsets[column.length] > column.children[0]->length) std::abort();
      }
    }
    array.release(&array);
  }
  stream.release(&stream);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  // The first byte says how the rest is split into metadata and payload.
  const size_t metadata = data[0] * (size - 1) / 256;
  const Form forms[] = {Form::tensor, Form::image, Form::histo, Form::audio, Form::none, Form::graph_def,
                        Form::meta_graph_def, Form::session_log, Form::log_message, Form::old_histogram};
  for (const std::string& name : tbq::table_names()) {
    const tbq::TableKind& table = *tbq::table_kind(name);
    tbq::Result result;
    result.series.emplace_back();
    result.series[0].tag.assign(reinterpret_cast<const char*>(data), size < 8 ? size : 8);
    result.series[0].kind = table.kind;
    tbq::parse_metadata({data + 1, metadata}, result.series[0].metadata);
    result.files.emplace_back();
    auto rows = std::make_shared<std::vector<BlobRow>>();
    for (const Form form : forms) {
      BlobRow row;
      row.form = form;
      row.metadata = data + 1;
      row.metadata_length = metadata;
      row.payload = data + 1 + metadata;
      row.payload_length = size - 1 - metadata;
      rows->push_back(row);
    }
    result.blobs[static_cast<size_t>(table.kind)] = rows;
    ArrowArrayStream stream{};
    tbq::export_table(result, table, {"run"}, nullptr, std::make_shared<tbq::ValueProblems>(), &stream);
    drain(stream);
  }
  return 0;
}
