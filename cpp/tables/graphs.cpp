// The tables `graphs` and `nodes`.
#include "bytes/utf8.hpp"
#include "event/schema.hpp"
#include "tables/kinds.hpp"
#include "tables/tensor_columns.hpp"

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
  each_field(bytes, [&](const Field& field) {
    if (field.is(schema::MetaGraphDef::graph_def, Wire::bytes)) graph = field.bytes;
  });
  return graph;
}

// Calls node(bytes, function) for each node of the graph and of its functions; returns false if the graph is
// malformed.
template <class Node>
bool walk_nodes(Bytes graph, Node&& node) {
  bool valid = true;
  // Calls each(bytes) for each field with this number, until a field is malformed.
  const auto walk = [&](Bytes message, uint32_t number, auto&& each) {
    valid = valid && each_field(message, [&](const Field& field) {
              if (valid && field.is(number, Wire::bytes)) each(field.bytes);
            });
  };
  walk(graph, schema::GraphDef::node, [&](Bytes bytes) { node(bytes, std::string_view()); });
  walk(graph, schema::GraphDef::library, [&](Bytes library) {
    walk(library, schema::FunctionLibrary::function, [&](Bytes function) {
      std::string_view name;
      walk(function, schema::FunctionDef::signature, [&](Bytes signature) {
        walk(signature, schema::OpDef::name, [&](Bytes bytes) { name = as_text(bytes); });
      });
      walk(function, schema::FunctionDef::node, [&](Bytes bytes) { node(bytes, name); });
    });
  });
  return valid;
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
    if (good && format != kKerasModel) nodes_.append(count);
    if (wants("data")) data_.append(as_text(bytes));
  }

 private:
  LabelColumn format_{*this, "format", string_dictionary({"graph_def", "meta_graph_def", "keras_model"})};
  IntegerColumn nodes_{*this, "nodes"};
  BytesColumn data_{*this, "data", "Z"};
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

 private:
  void append_node(const Value& value, Bytes node, std::string_view function) {
    std::string_view name, op, device;
    std::string repaired;
    const bool valid = each_field(node, [&](const Field& field) {
      if (field.wire != Wire::bytes) return;
      if (field.number == schema::NodeDef::name) name = as_text(field.bytes);
      if (field.number == schema::NodeDef::op) op = as_text(field.bytes);
      if (field.number == schema::NodeDef::input) {
        const std::string_view text = as_text(field.bytes);
        inputs_.append(is_valid_utf8(text) ? text : std::string_view(repaired = valid_utf8(text)));
      }
      if (field.number == schema::NodeDef::device) device = as_text(field.bytes);
    });
    if (!valid) report(value, "bad_graph", "a node of the graph cannot be read");
    add_keys(value);
    inputs_.close();
    name_.append(utf8(value, name));
    op_.append(utf8(value, op));
    device_.append_or_null(utf8(value, device));
    append_repeated(value, function_, function);
  }

  StringColumn name_{*this, "name"};
  StringColumn op_{*this, "op"};
  StringColumn device_{*this, "device"};
  Named<TextListBuilder> inputs_{*this, "inputs"};
  StringColumn function_{*this, "function"};
};

}  // namespace

std::unique_ptr<Expander> make_graphs(ValueProblems& problems) { return std::make_unique<Graphs>(problems); }

std::unique_ptr<Expander> make_nodes(ValueProblems& problems) { return std::make_unique<Nodes>(problems); }

}  // namespace tbq
