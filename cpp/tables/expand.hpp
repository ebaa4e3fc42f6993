// What the expanders share: one maker a table, and the dictionaries of dtypes.
#pragma once

#include "event/tensor.hpp"
#include "tables/kinds.hpp"

namespace tbq {

std::unique_ptr<Expander> make_tensors(ValueProblems& problems);
std::unique_ptr<Expander> make_histograms(ValueProblems& problems);
std::unique_ptr<Expander> make_images(ValueProblems& problems);
std::unique_ptr<Expander> make_audio(ValueProblems& problems);
std::unique_ptr<Expander> make_texts(ValueProblems& problems);
std::unique_ptr<Expander> make_hparams(ValueProblems& problems);
std::unique_ptr<Expander> make_hparam_metrics(ValueProblems& problems);
std::unique_ptr<Expander> make_hparam_domains(ValueProblems& problems);
std::unique_ptr<Expander> make_pr_curves(ValueProblems& problems);
std::unique_ptr<Expander> make_meshes(ValueProblems& problems);
std::unique_ptr<Expander> make_graphs(ValueProblems& problems);
std::unique_ptr<Expander> make_nodes(ValueProblems& problems);
std::unique_ptr<Expander> make_run_metadata(ValueProblems& problems);
std::unique_ptr<Expander> make_custom_scalars(ValueProblems& problems);
std::unique_ptr<Expander> make_others(ValueProblems& problems);
std::unique_ptr<Expander> make_logs(ValueProblems& problems);

// The names of all dtypes, coded by their numbers.
std::shared_ptr<const Column> dtype_dictionary();
std::shared_ptr<const Column> dictionary_of(std::initializer_list<const char*> names);

// dtype, shape and data of a tensor. Where it cannot be decoded the shape is null, and the data are the
// protobuf. `owner` says which of them are wanted.
class TensorColumns {
 public:
  explicit TensorColumns(const Expander& owner) : owner_(owner) {}
  TensorError append(const Value& value);
  void append_null();
  // Bytes without a dtype and a shape.
  void append_raw(Bytes bytes);
  void finish(Batch& batch);

 private:
  const Expander& owner_;
  LabelBuilder dtype_{dtype_dictionary()};
  ListBuilder<int64_t> shape_;
  BytesBuilder data_{"Z"};
  RepeatBudget budget_;
  std::vector<Bytes> texts_;
};

inline void append_text(TextBuilder& column, std::string_view text) {
  if (!column.append(text)) column.append_null();
}
inline void append_text_or_null(TextBuilder& column, std::string_view text) {
  if (text.empty()) {
    column.append_null();
  } else {
    append_text(column, text);
  }
}

// A text that stands once in a message but on many rows: null, with the budget spent, instead of more than is
// let.
inline bool append_repeated(TextBuilder& column, std::string_view text, RepeatBudget& budget) {
  if (text.size() > budget.left) {
    column.append_null();
    return false;
  }
  budget.left -= text.size();
  append_text_or_null(column, text);
  return true;
}

// The first string of a string tensor (what plugins wrap their bytes in); the payload itself where it is no
// tensor.
TensorError wrapped_bytes(const Value& value, RepeatBudget& budget, Bytes& out);

}  // namespace tbq
