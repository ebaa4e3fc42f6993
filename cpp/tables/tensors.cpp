// tensors, meshes and others: dtype, shape and raw little-endian bytes of whatever was logged.
#include "tables/expand.hpp"

namespace tbq {

std::shared_ptr<const Column> dictionary_of(std::initializer_list<const char*> names) {
  return string_dictionary({names.begin(), names.end()});
}

std::shared_ptr<const Column> dtype_dictionary() {
  std::vector<std::string> names;
  for (uint64_t i = 0; i < kDtypeCount; ++i) names.emplace_back(i == 0 ? "invalid" : dtype_name(i));
  return string_dictionary(names);
}

// A string tensor's data are count + 1 offsets (int64) into the bytes that follow them.
TensorError TensorColumns::append(const Value& value) {
  const bool copied = owner_.wants("data");
  const TensorView tensor = read_tensor(value.payload);
  dtype_.append(static_cast<int32_t>(tensor.dtype));
  TensorError error;
  if (tensor.is_string()) {
    error = copy_strings(tensor, budget_, texts_);
    if (error == TensorError::none && copied) {
      Grow<char>& data = data_.data();
      char* offsets = data.extend((texts_.size() + 1) * sizeof(int64_t));
      int64_t at = 0;
      for (size_t i = 0; i <= texts_.size(); ++i) {
        std::memcpy(offsets + i * sizeof(int64_t), &at, sizeof(at));
        if (i < texts_.size()) at += static_cast<int64_t>(texts_[i].size());
      }
      for (const Bytes& text : texts_) data.append(reinterpret_cast<const char*>(text.data()), text.size());
    }
  } else if (copied) {
    error = copy_numbers(tensor, budget_, data_.data());
  } else {
    error = check_numbers(tensor, budget_);
  }
  if (error != TensorError::none) {
    shape_.append_null();
    data_.append(copied ? as_text(value.payload) : std::string_view());
    return error;
  }
  data_.close();
  shape_.values().append(tensor.dims, tensor.rank);
  shape_.close();
  return error;
}

void TensorColumns::append_null() {
  dtype_.append_null();
  shape_.append_null();
  data_.append_null();
}

void TensorColumns::append_raw(Bytes bytes) {
  dtype_.append_null();
  shape_.append_null();
  data_.append(owner_.wants("data") ? as_text(bytes) : std::string_view());
}

void TensorColumns::finish(Batch& batch) {
  batch.columns.push_back(dtype_.finish("dtype"));
  batch.columns.push_back(shape_.finish("shape"));
  batch.columns.push_back(data_.finish("data"));
}

TensorError wrapped_bytes(const Value& value, RepeatBudget& budget, Bytes& out) {
  out = value.payload;
  if (value.row->form != Form::tensor) return TensorError::none;
  std::vector<Bytes> texts;
  const TensorError error = copy_strings(read_tensor(value.payload), budget, texts);
  if (error != TensorError::none) return error;
  if (texts.empty()) return TensorError::mismatch;
  out = texts[0];
  return TensorError::none;
}

namespace {

// display_name and description: the event's own, else the tag's first.
class NameColumns {
 public:
  void append(const Value& value) {
    const TagMetadata* known = &value.series->metadata;
    TagMetadata own;
    if (value.row->metadata) {
      parse_metadata(value.metadata, own);
      if (own.display_name.empty()) own.display_name = known->display_name;
      if (own.description.empty()) own.description = known->description;
      known = &own;
    }
    append_text_or_null(display_name_, valid_utf8(known->display_name));
    append_text_or_null(description_, valid_utf8(known->description));
  }
  void finish(Batch& batch) {
    batch.columns.push_back(display_name_.finish("display_name"));
    batch.columns.push_back(description_.finish("description"));
  }

 private:
  TextBuilder display_name_, description_;
};

class Tensors final : public Expander {
 public:
  using Expander::Expander;
  void append(const Value& value) override {
    add_keys(value);
    const TensorError error = tensor_.append(value);
    if (error != TensorError::none) report(value, "bad_tensor", tensor_error_text(error));
    names_.append(value);
  }
  void finish(Batch& batch) override {
    tensor_.finish(batch);
    names_.finish(batch);
  }

 private:
  TensorColumns tensor_{*this};
  NameColumns names_;
};

class Meshes final : public Expander {
 public:
  using Expander::Expander;
  void append(const Value& value) override {
    add_keys(value);
    uint64_t component = 0;
    std::string_view name, config;
    Cursor cursor(plugin_content(value.metadata));
    Field field;
    while (!cursor.empty() && cursor.field(field)) {
      if (field.is(2, Wire::bytes)) name = as_text(field.bytes);
      if (field.is(3, Wire::varint)) component = field.value;
      if (field.is(5, Wire::bytes)) config = as_text(field.bytes);
    }
    append_text_or_null(name_, valid_utf8(name));
    component_.append(static_cast<int32_t>(component < 4 ? component : 0));
    append_text_or_null(config_, valid_utf8(config));
    const TensorError error = value.row->form == Form::tensor ? tensor_.append(value) : TensorError::dtype;
    if (value.row->form != Form::tensor) tensor_.append_raw(value.payload);
    if (error != TensorError::none) report(value, "bad_tensor", tensor_error_text(error));
  }
  void finish(Batch& batch) override {
    batch.columns.push_back(name_.finish("name"));
    batch.columns.push_back(component_.finish("component"));
    batch.columns.push_back(config_.finish("config"));
    tensor_.finish(batch);
  }

 private:
  TextBuilder name_, config_;
  LabelBuilder component_{dictionary_of({"undefined", "vertex", "face", "color"})};
  TensorColumns tensor_{*this};
};

class Others final : public Expander {
 public:
  using Expander::Expander;
  void append(const Value& value) override {
    add_keys(value);
    const TagMetadata* known = &value.series->metadata;
    TagMetadata own;
    if (value.row->metadata && parse_metadata(value.metadata, own)) known = &own;
    append_text_or_null(plugin_, valid_utf8(known->plugin));
    form_.append(static_cast<int32_t>(value.row->form));
    if (value.row->form == Form::none) {
      tensor_.append_null();
    } else if (value.row->form == Form::tensor) {
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
  // As Form numbers them.
  LabelBuilder form_{
      dictionary_of({"none", "simple_value", "old_histogram", "image", "histo", "audio", "tensor",
                     "graph_def", "meta_graph_def", "run_metadata", "log_message", "session_log"})};
  TensorColumns tensor_{*this};
  BytesBuilder content_{"Z"};
  NameColumns names_;
};

}  // namespace

std::unique_ptr<Expander> make_tensors(ValueProblems& problems) {
  return std::make_unique<Tensors>(problems);
}
std::unique_ptr<Expander> make_meshes(ValueProblems& problems) { return std::make_unique<Meshes>(problems); }
std::unique_ptr<Expander> make_others(ValueProblems& problems) { return std::make_unique<Others>(problems); }

}  // namespace tbq
