// The tables `graphs` and `nodes`.
#include "bytes/utf8.hpp"
#include "event/schema.hpp"
#include "tables/kinds.hpp"
#include "tables/tensor_columns.hpp"
#include "tables/text_columns.hpp"

namespace tbq {
namespace {

enum GraphFormat : int32_t { kGraphDef, kMetaGraphDef, kKerasModel };

int32_t graph_format(const Value& value) {
  if (value.row->field == ValueField::meta_graph_def) return kMetaGraphDef;
  if (value.row->field == ValueField::tensor && value.series->metadata.plugin == "graph_keras_model")
    return kKerasModel;
  return kGraphDef;
}

// The GraphDef inside the payload.
Bytes graph_def(int32_t format, Bytes bytes) {
  if (format == kKerasModel) return {};
  if (format == kGraphDef) return bytes;
  Bytes graph;
  Cursor cursor(bytes);
  Field field;
  while (!cursor.empty() && cursor.field(field)) {
    if (field.is(schema::MetaGraphDef::graph_def, Wire::bytes)) graph = field.bytes;
  }
  return graph;
}

// Calls node(bytes, function) for each node of the graph and of its functions; returns false if the graph is
// malformed.
template <class Node>
bool walk_nodes(Bytes graph, Node&& node) {
  Cursor cursor(graph);
  Field field;
  while (!cursor.empty()) {
    if (!cursor.field(field)) return false;
    if (field.is(schema::GraphDef::node, Wire::bytes)) node(field.bytes, std::string_view());
    if (!field.is(schema::GraphDef::library, Wire::bytes)) continue;
    Cursor library(field.bytes);
    while (!library.empty()) {
      if (!library.field(field)) return false;
      if (!field.is(schema::FunctionLibrary::function, Wire::bytes)) continue;
      const Bytes function = field.bytes;
      std::string_view name;
      for (Cursor inner(function); !inner.empty();) {
        if (!inner.field(field)) return false;
        if (!field.is(schema::FunctionDef::signature, Wire::bytes)) continue;
        for (Cursor signature(field.bytes); !signature.empty();) {
          if (!signature.field(field)) return false;
          if (field.is(schema::OpDef::name, Wire::bytes)) name = as_text(field.bytes);
        }
      }
      for (Cursor inner(function); !inner.empty();) {
        if (!inner.field(field)) return false;
        if (field.is(schema::FunctionDef::node, Wire::bytes)) node(field.bytes, name);
      }
    }
  }
  return true;
}

class Graphs final : public Expander {
 public:
  using Expander::Expander;
  void append(const Value& value) override {
    add_keys(value);
    const int32_t format = graph_format(value);
    format_.append(format);
    if (!wants("nodes") && !wants("data")) return;
    Bytes bytes;
    const TensorError error = wrapped_bytes(value, budget_, bytes);
    int64_t count = 0;
    bool good = error == TensorError::none;
    if (good && format != kKerasModel) {
      good = walk_nodes(graph_def(format, bytes), [&](Bytes, std::string_view) { ++count; });
    }
    if (!good) report(value, "bad_graph", "the graph cannot be read");
    if (good && format != kKerasModel) {
      nodes_.append(count);
    } else {
      nodes_.append_null();
    }
    if (wants("data")) data_.append(as_text(bytes));
  }
  void finish(Batch& batch) override {
    batch.columns.push_back(format_.finish("format"));
    batch.columns.push_back(nodes_.finish("nodes"));
    batch.columns.push_back(data_.finish("data"));
  }

 private:
  LabelBuilder format_{string_dictionary({"graph_def", "meta_graph_def", "keras_model"})};
  FixedBuilder<int64_t> nodes_;
  BytesBuilder data_{"Z"};
  RepeatBudget budget_;
};

class Nodes final : public Expander {
 public:
  using Expander::Expander;
  void append(const Value& value) override {
    const int32_t format = graph_format(value);
    Bytes bytes;
    bool good = wrapped_bytes(value, budget_, bytes) == TensorError::none;
    good = good && walk_nodes(graph_def(format, bytes), [&](Bytes node, std::string_view function) {
             append_node(value, node, function);
           });
    if (!good) report(value, "bad_graph", "the graph cannot be read");
  }
  void finish(Batch& batch) override {
    batch.columns.push_back(name_.finish("name"));
    batch.columns.push_back(op_.finish("op"));
    batch.columns.push_back(device_.finish("device"));
    batch.columns.push_back(inputs_.finish("inputs"));
    batch.columns.push_back(function_.finish("function"));
  }

 private:
  void append_node(const Value& value, Bytes node, std::string_view function) {
    std::string_view name, op, device;
    std::string repaired;
    Cursor cursor(node);
    Field field;
    while (!cursor.empty()) {
      if (!cursor.field(field)) {
        report(value, "bad_graph", "a node of the graph cannot be read");
        break;
      }
      if (field.wire != Wire::bytes) continue;
      if (field.number == schema::NodeDef::name) name = as_text(field.bytes);
      if (field.number == schema::NodeDef::op) op = as_text(field.bytes);
      if (field.number == schema::NodeDef::input) {
        const std::string_view text = as_text(field.bytes);
        inputs_.append(is_valid_utf8(text) ? text : std::string_view(repaired = valid_utf8(text)));
      }
      if (field.number == schema::NodeDef::device) device = as_text(field.bytes);
    }
    add_keys(value);
    inputs_.close();
    append_text(name_, utf8(value, name));
    append_text(op_, utf8(value, op));
    append_text_or_null(device_, utf8(value, device));
    if (!append_repeated(function_, utf8(value, function), budget_)) report_repeated(value);
  }

  TextBuilder name_, op_, device_, function_;
  TextListBuilder inputs_;
  RepeatBudget budget_;
};

}  // namespace

std::unique_ptr<Expander> make_graphs(ValueProblems& problems) { return std::make_unique<Graphs>(problems); }

std::unique_ptr<Expander> make_nodes(ValueProblems& problems) { return std::make_unique<Nodes>(problems); }

}  // namespace tbq
