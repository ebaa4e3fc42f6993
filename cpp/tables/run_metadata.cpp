// The table `run_metadata`: TensorFlow's RunMetadata, unchanged.
#include "bytes/utf8.hpp"
#include "tables/kinds.hpp"
#include "tables/tensor_columns.hpp"
#include "tables/text_columns.hpp"

namespace tbq {
namespace {

class RunMetadata final : public Expander {
 public:
  using Expander::Expander;
  void append(const Value& value) override {
    add_keys(value);
    append_text_or_null(plugin_, valid_utf8(value.series->metadata.plugin));
    if (!wants("data")) return;
    Bytes bytes;
    const TensorError error = wrapped_bytes(value, budget_, bytes);
    if (error != TensorError::none) report(value, "bad_run_metadata", tensor_error_text(error));
    data_.append(as_text(bytes));
  }
  void finish(Batch& batch) override {
    batch.columns.push_back(plugin_.finish("plugin"));
    batch.columns.push_back(data_.finish("data"));
  }

 private:
  TextBuilder plugin_;
  BytesBuilder data_{"Z"};
  RepeatBudget budget_;
};

}  // namespace

std::unique_ptr<Expander> make_run_metadata(ValueProblems& problems) {
  return std::make_unique<RunMetadata>(problems);
}

}  // namespace tbq
