// others: whatever no other table is made of.
#include "bytes/utf8.hpp"
#include "event/metadata.hpp"
#include "tables/kinds.hpp"
#include "tables/name_columns.hpp"
#include "tables/tensor_columns.hpp"
#include "tables/text_columns.hpp"

namespace tbq {
namespace {

class Others final : public Expander {
 public:
  using Expander::Expander;
  void append(const Value& value) override {
    add_keys(value);
    const TagMetadata* known = &value.series->metadata;
    TagMetadata own;
    if (value.row->metadata && parse_metadata(value.metadata, own)) known = &own;
    append_text_or_null(plugin_, valid_utf8(known->plugin));
    form_.append(static_cast<int32_t>(value.row->field));
    if (value.row->field == ValueField::none) {
      tensor_.append_null();
    } else if (value.row->field == ValueField::tensor) {
      const TensorError error = tensor_.append(value);
      if (error != TensorError::none) report(value, "bad_tensor", tensor_error_text(error));
    } else {
      tensor_.append_raw(value.payload);
    }
    content_.append(as_text(plugin_content(value.metadata)));
    names_.append(value);
  }
  void finish(Batch& batch) override {
    batch.columns.push_back(plugin_.finish("plugin"));
    batch.columns.push_back(form_.finish("form"));
    tensor_.finish(batch);
    batch.columns.push_back(content_.finish("content"));
    names_.finish(batch);
  }

 private:
  TextBuilder plugin_;
  // As ValueField numbers them.
  LabelBuilder form_{
      string_dictionary({"none", "simple_value", "old_histogram", "image", "histo", "audio", "tensor",
                         "graph_def", "meta_graph_def", "run_metadata", "log_message", "session_log"})};
  TensorColumns tensor_{*this};
  BytesBuilder content_{"Z"};
  NameColumns names_;
};

}  // namespace

std::unique_ptr<Expander> make_others(ValueProblems& problems) { return std::make_unique<Others>(problems); }

}  // namespace tbq
