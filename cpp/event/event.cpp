// Event, Summary and SummaryMetadata by field numbers (FORMAT: tensorflow/core/util/event.proto and friends).
#include "event/event.hpp"

#include <array>

#include "event/file_source.hpp"

namespace tbq {

void EventRef::clear() {
  wall_time = 0;
  step = 0;
  has_file_version = false;
  file_version = {};
  writer = {};
  session_start = false;
  strange = false;
  values.clear();
}

namespace {

// Later fields of a oneof win, as protobuf has it.
template <class Source>
bool walk_value(Source& source, Range range, ValueRef& value, bool& strange) {
  Fields<Source> fields(source, range);
  typename Fields<Source>::Item item;
  while (fields.next(item)) {
    if (item.wire == Wire::fixed32 && item.number == 2) {
      value.form = Form::simple_value;
      value.scalar = std::bit_cast<float>(static_cast<uint32_t>(item.value));
      value.payload = {};
    } else if (item.wire == Wire::bytes) {
      Form form = Form::none;
      switch (item.number) {
        case 1:
          value.tag = item.range;
          break;
        case 3:
          form = Form::old_histogram;
          break;
        case 4:
          form = Form::image;
          break;
        case 5:
          form = Form::histo;
          break;
        case 6:
          form = Form::audio;
          break;
        case 7:  // node_name
          break;
        case 8:
          form = Form::tensor;
          break;
        case 9:
          value.has_metadata = true;
          value.metadata = item.range;
          break;
        default:
          strange = true;
          break;
      }
      if (form != Form::none) {
        value.form = form;
        value.payload = item.range;
      }
    } else {
      strange = true;
    }
  }
  if (value.form == Form::none) strange = true;
  return fields.ok();
}

template <class Source>
bool walk_summary(Source& source, Range range, EventRef& out) {
  Fields<Source> fields(source, range);
  typename Fields<Source>::Item item;
  while (fields.next(item)) {
    if (!item.is(1, Wire::bytes)) {
      out.strange = true;
      continue;
    }
    ValueRef value;
    if (!walk_value(source, item.range, value, out.strange)) return false;
    value.end = item.range.offset + item.range.length;
    out.values.push_back(value);
  }
  return fields.ok();
}

template <class Source>
bool walk_session_log(Source& source, Range range, EventRef& out) {
  Fields<Source> fields(source, range);
  typename Fields<Source>::Item item;
  while (fields.next(item)) {
    if (item.is(1, Wire::varint)) out.session_start = item.value == 1;
  }
  return fields.ok();
}

template <class Source>
bool walk_run_metadata(Source& source, Range range, EventRef& out) {
  ValueRef value;
  value.form = Form::run_metadata;
  Fields<Source> fields(source, range);
  typename Fields<Source>::Item item;
  while (fields.next(item)) {
    if (item.is(1, Wire::bytes)) value.tag = item.range;
    if (item.is(2, Wire::bytes)) value.payload = item.range;
  }
  out.values.push_back(value);
  return fields.ok();
}

template <class Source>
bool walk_source_metadata(Source& source, Range range, EventRef& out) {
  Fields<Source> fields(source, range);
  typename Fields<Source>::Item item;
  while (fields.next(item)) {
    if (item.is(1, Wire::bytes)) out.writer = item.range;
  }
  return fields.ok();
}

void push_untagged(EventRef& out, Form form, Range payload) {
  ValueRef value;
  value.form = form;
  value.payload = payload;
  out.values.push_back(value);
}

}  // namespace

template <class Source>
bool walk_event(Source& source, EventRef& out) {
  Fields<Source> fields(source, {0, source.size()});
  typename Fields<Source>::Item item;
  bool ok = true;
  while (fields.next(item)) {
    if (item.is(1, Wire::fixed64)) {
      out.wall_time = std::bit_cast<double>(item.value);
    } else if (item.is(2, Wire::varint)) {
      out.step = static_cast<int64_t>(item.value);
    } else if (item.wire == Wire::bytes) {
      switch (item.number) {
        case 3:
          out.has_file_version = true;
          out.file_version = item.range;
          break;
        case 4:
          push_untagged(out, Form::graph_def, item.range);
          break;
        case 5:
          ok = walk_summary(source, item.range, out) && ok;
          break;
        case 6:
          push_untagged(out, Form::log_message, item.range);
          break;
        case 7:
          push_untagged(out, Form::session_log, item.range);
          ok = walk_session_log(source, item.range, out) && ok;
          break;
        case 8:
          ok = walk_run_metadata(source, item.range, out) && ok;
          break;
        case 9:
          push_untagged(out, Form::meta_graph_def, item.range);
          break;
        case 10:
          ok = walk_source_metadata(source, item.range, out) && ok;
          break;
        default:
          out.strange = true;
          break;
      }
    } else {
      out.strange = true;
    }
  }
  return ok && fields.ok();
}

template bool walk_event<MemorySource>(MemorySource&, EventRef&);
template bool walk_event<FileSource>(FileSource&, EventRef&);

const char* kind_name(Kind kind) {
  static constexpr std::array<const char*, kKindCount> names = {
      "scalars",   "tensors", "histograms", "images",       "audio",          "texts",  "hparams",
      "pr_curves", "meshes",  "graphs",     "run_metadata", "custom_scalars", "others", "logs"};
  return names[static_cast<size_t>(kind)];
}

bool parse_metadata(Bytes bytes, TagMetadata& out) {
  Cursor cursor(bytes);
  Field field;
  while (!cursor.empty()) {
    if (!cursor.field(field)) return false;
    if (field.is(1, Wire::bytes)) {
      Cursor plugin(field.bytes);
      Field inner;
      while (!plugin.empty()) {
        if (!plugin.field(inner)) return false;
        if (inner.is(1, Wire::bytes)) out.plugin = as_text(inner.bytes);
      }
    } else if (field.is(2, Wire::bytes)) {
      out.display_name = as_text(field.bytes);
    } else if (field.is(3, Wire::bytes)) {
      out.description = as_text(field.bytes);
    } else if (field.is(4, Wire::varint)) {
      out.data_class = static_cast<uint32_t>(field.value);
    }
  }
  return true;
}

Kind kind_of_plugin(std::string_view plugin) {
  struct Known {
    std::string_view name;
    Kind kind;
  };
  static constexpr Known known[] = {
      {"scalars", Kind::scalars},
      {"", Kind::tensors},
      {"tensor", Kind::tensors},
      {"histograms", Kind::histograms},
      {"images", Kind::images},
      {"audio", Kind::audio},
      {"text", Kind::texts},
      {"hparams", Kind::hparams},
      {"pr_curves", Kind::pr_curves},
      {"mesh", Kind::meshes},
      {"graphs", Kind::graphs},
      {"graph_keras_model", Kind::graphs},
      {"graph_run_metadata", Kind::run_metadata},
      {"graph_run_metadata_graph", Kind::run_metadata},
      {"custom_scalars", Kind::custom_scalars},
  };
  for (const Known& entry : known) {
    if (entry.name == plugin) return entry.kind;
  }
  return Kind::others;
}

Kind kind_of(Form form, std::string_view plugin) {
  switch (form) {
    case Form::simple_value:
      return Kind::scalars;
    case Form::image:
      return Kind::images;
    case Form::histo:
      return Kind::histograms;
    case Form::audio:
      return Kind::audio;
    case Form::tensor:
      return kind_of_plugin(plugin);
    case Form::none:
      return plugin.empty() || plugin == "scalars" ? Kind::others : kind_of_plugin(plugin);
    case Form::old_histogram:
      return Kind::others;
    case Form::graph_def:
    case Form::meta_graph_def:
      return Kind::graphs;
    case Form::run_metadata:
      return Kind::run_metadata;
    case Form::log_message:
    case Form::session_log:
      return Kind::logs;
  }
  return Kind::others;
}

}  // namespace tbq
