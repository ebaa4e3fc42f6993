// graphs and their nodes, run metadata, custom scalar layouts, and log messages.
#include "tables/expand.hpp"

namespace tbq {
namespace {

enum GraphFormat : int32_t { kGraphDef, kMetaGraphDef, kKerasModel };

int32_t graph_format(const Value& value) {
  if (value.row->form == Form::meta_graph_def) return kMetaGraphDef;
  if (value.row->form == Form::tensor && value.series->metadata.plugin == "graph_keras_model")
    return kKerasModel;
  return kGraphDef;
}

// The GraphDef inside; a MetaGraphDef has it as field 2.
Bytes graph_def(int32_t format, Bytes bytes) {
  if (format == kKerasModel) return {};
  if (format == kGraphDef) return bytes;
  Bytes graph;
  Cursor cursor(bytes);
  Field field;
  while (!cursor.empty() && cursor.field(field)) {
    if (field.is(2, Wire::bytes)) graph = field.bytes;
  }
  return graph;
}

// Calls node(bytes, function) for each node of the graph and of its functions; false where it is malformed.
template <class Node>
bool walk_nodes(Bytes graph, Node&& node) {
  Cursor cursor(graph);
  Field field;
  while (!cursor.empty()) {
    if (!cursor.field(field)) return false;
    if (field.is(1, Wire::bytes)) node(field.bytes, std::string_view());
    if (!field.is(2, Wire::bytes)) continue;
    Cursor library(field.bytes);
    while (!library.empty()) {
      if (!library.field(field)) return false;
      if (!field.is(1, Wire::bytes)) continue;
      const Bytes function = field.bytes;
      std::string_view name;
      for (Cursor inner(function); !inner.empty();) {
        if (!inner.field(field)) return false;
        if (!field.is(1, Wire::bytes)) continue;
        for (Cursor signature(field.bytes); !signature.empty();) {
          if (!signature.field(field)) return false;
          if (field.is(1, Wire::bytes)) name = as_text(field.bytes);
        }
      }
      for (Cursor inner(function); !inner.empty();) {
        if (!inner.field(field)) return false;
        if (field.is(3, Wire::bytes)) node(field.bytes, name);
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
  LabelBuilder format_{dictionary_of({"graph_def", "meta_graph_def", "keras_model"})};
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
      if (field.number == 1) name = as_text(field.bytes);
      if (field.number == 2) op = as_text(field.bytes);
      if (field.number == 3) {
        const std::string_view text = as_text(field.bytes);
        inputs_.append(is_valid_utf8(text) ? text : std::string_view(repaired = valid_utf8(text)));
      }
      if (field.number == 4) device = as_text(field.bytes);
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

// A row a tag pattern of a chart. The layout's bytes stand on its first row.
class CustomScalars final : public Expander {
 public:
  using Expander::Expander;
  void append(const Value& value) override {
    Bytes layout;
    const TensorError error = wrapped_bytes(value, budget_, layout);
    const uint64_t before = rows();
    if (error == TensorError::none && walk_layout(value, layout)) {
      if (rows() == before) push(value, {}, {}, -1, {}, layout, before);
      return;
    }
    report(value, "bad_custom_scalars", "the layout cannot be read");
    if (rows() == before) push(value, {}, {}, -1, {}, layout, before);
  }
  void finish(Batch& batch) override {
    batch.columns.push_back(category_.finish("category"));
    batch.columns.push_back(chart_.finish("chart"));
    batch.columns.push_back(type_.finish("type"));
    batch.columns.push_back(pattern_.finish("pattern"));
    batch.columns.push_back(data_.finish("data"));
  }

 private:
  template <class Each>
  static bool walk(Bytes message, Each&& each) {
    Cursor cursor(message);
    Field field;
    while (!cursor.empty()) {
      if (!cursor.field(field)) return false;
      if (field.wire == Wire::bytes && !each(field.number, field.bytes)) return false;
    }
    return true;
  }
  // The last field of that number.
  static std::string_view text_of(Bytes message, uint32_t number) {
    std::string_view text;
    walk(message, [&](uint32_t found, Bytes bytes) {
      if (found == number) text = as_text(bytes);
      return true;
    });
    return text;
  }

  bool walk_layout(const Value& value, Bytes layout) {
    const uint64_t first = rows();
    return walk(layout, [&](uint32_t number, Bytes category) {
      if (number != 2) return true;
      const std::string_view title = text_of(category, 1);
      return walk(category, [&](uint32_t inner, Bytes chart) {
        return inner != 2 || walk_chart(value, title, chart, layout, first);
      });
    });
  }

  bool walk_chart(const Value& value, std::string_view category, Bytes chart, Bytes layout, uint64_t first) {
    const std::string_view title = text_of(chart, 1);
    return walk(chart, [&](uint32_t number, Bytes content) {
      if (number == 2) {
        return walk(content, [&](uint32_t inner, Bytes tag) {
          if (inner == 1) push(value, category, title, 0, as_text(tag), layout, first);
          return true;
        });
      }
      if (number != 3) return true;
      return walk(content, [&](uint32_t inner, Bytes series) {
        return inner != 1 || walk(series, [&](uint32_t which, Bytes tag) {
                 if (which <= 3)
                   push(value, category, title, static_cast<int32_t>(which), as_text(tag), layout, first);
                 return true;
               });
      });
    });
  }

  void push(const Value& value, std::string_view category, std::string_view chart, int32_t type,
            std::string_view pattern, Bytes layout, uint64_t first) {
    const bool leads = rows() == first;
    add_keys(value);
    bool whole = append_repeated(category_, utf8(value, category), budget_);
    whole = append_repeated(chart_, utf8(value, chart), budget_) && whole;
    if (!whole) report_repeated(value);
    if (type < 0) {
      type_.append_null();
    } else {
      type_.append(type);
    }
    append_text_or_null(pattern_, utf8(value, pattern));
    if (leads) {
      data_.append(as_text(layout));
    } else {
      data_.append_null();
    }
  }

  TextBuilder category_, chart_, pattern_;
  LabelBuilder type_{dictionary_of({"multiline", "margin_value", "margin_lower", "margin_upper"})};
  BytesBuilder data_{"Z"};
  RepeatBudget budget_;
};

class Logs final : public Expander {
 public:
  using Expander::Expander;
  void append(const Value& value) override {
    add_keys(value);
    const bool session = value.row->form == Form::session_log;
    uint64_t level = 0;
    std::string_view message, checkpoint;
    Cursor cursor(value.payload);
    Field field;
    while (!cursor.empty()) {
      if (!cursor.field(field)) {
        report(value, "bad_log", "the log message cannot be read");
        break;
      }
      if (field.is(1, Wire::varint)) level = field.value;
      if (field.is(2, Wire::bytes)) (session ? checkpoint : message) = as_text(field.bytes);
      if (field.is(3, Wire::bytes) && session) message = as_text(field.bytes);
    }
    level_.append(session ? 6 + static_cast<int32_t>(level < 4 ? level : 0)
                          : static_cast<int32_t>(level <= 50 ? level / 10 : 0));
    append_text_or_null(message_, utf8(value, message));
    append_text_or_null(checkpoint_, utf8(value, checkpoint));
  }
  void finish(Batch& batch) override {
    batch.columns.push_back(level_.finish("level"));
    batch.columns.push_back(message_.finish("message"));
    batch.columns.push_back(checkpoint_.finish("checkpoint_path"));
  }

 private:
  LabelBuilder level_{dictionary_of({"unknown", "debugging", "info", "warn", "error", "fatal", "unspecified",
                                     "start", "stop", "checkpoint"})};
  TextBuilder message_, checkpoint_;
};

}  // namespace

std::unique_ptr<Expander> make_graphs(ValueProblems& problems) { return std::make_unique<Graphs>(problems); }
std::unique_ptr<Expander> make_nodes(ValueProblems& problems) { return std::make_unique<Nodes>(problems); }
std::unique_ptr<Expander> make_run_metadata(ValueProblems& problems) {
  return std::make_unique<RunMetadata>(problems);
}
std::unique_ptr<Expander> make_custom_scalars(ValueProblems& problems) {
  return std::make_unique<CustomScalars>(problems);
}
std::unique_ptr<Expander> make_logs(ValueProblems& problems) { return std::make_unique<Logs>(problems); }

}  // namespace tbq
