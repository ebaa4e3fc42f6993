// The table `run_metadata`: TensorFlow's RunMetadata, unchanged.
#include "bytes/utf8.hpp"
#include "tables/kinds.hpp"
#include "tables/tensor_columns.hpp"

namespace tbq {
namespace {

class RunMetadata final : public Expander {
 public:
  using Expander::Expander;
  void append(const Value& value) override {
    add_keys(value);
    plugin_.append_or_null(valid_utf8(value.series->metadata.plugin));
    if (!wants("data")) return;
    Bytes bytes;
    const TensorError error = wrapped_bytes(value, budget_, bytes);
    if (error != TensorError::none) report(value, "bad_run_metadata", tensor_error_text(error));
    data_.append(as_text(bytes));
  }

 private:
  StringColumn plugin_{*this, "plugin"};
  BytesColumn data_{*this, "data", "Z"};
};

}  // namespace

std::unique_ptr<Expander> make_run_metadata(ValueProblems& problems) {
  return std::make_unique<RunMetadata>(problems);
}

}  // namespace tbq
