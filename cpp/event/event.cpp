// Walks Event and Summary field by field. Skips unknown fields, but records that there were some.
#include "event/event.hpp"

#include <iterator>

#include "event/schema.hpp"

namespace tbq {
namespace {

// Adds a value to the current portion; `place` is where the walk can resume at this value.
void push(EventRef& out, const ValueRef& value, const ValuesPlace& place) {
  if (out.values.size() < out.most) {
    out.values.push_back(value);
  } else if (!out.more) {
    out.more = true;
    out.next = place;
  }
}

template <class Source, class Take>
bool each_item(Source& source, Range range, Take&& take) {
  Fields<Source> fields(source, range);
  typename Fields<Source>::Item item;
  while (fields.next(item)) take(item);
  return fields.ok();
}

// Later fields of a oneof win, as in protobuf.
template <class Source>
bool walk_value(Source& source, Range range, ValueRef& value, bool& strange) {
  constexpr ValueField kPayloads[] = {// by field number
                                      ValueField::none,          ValueField::none,  ValueField::simple_value,
                                      ValueField::old_histogram, ValueField::image, ValueField::histo,
                                      ValueField::audio,         ValueField::none,  ValueField::tensor};
  const bool valid = each_item(source, range, [&](const auto& item) {
    const ValueField field = item.number < std::size(kPayloads) ? kPayloads[item.number] : ValueField::none;
    if (item.is(schema::Value::simple_value, Wire::fixed32)) {
      value.field = field;
      value.scalar = item.as_float();
      value.payload = {};
    } else if (item.is(schema::Value::tag, Wire::bytes)) {
      value.tag = item.range;
    } else if (item.is(schema::Value::node_name, Wire::bytes)) {
      value.node_name = item.range;
    } else if (item.is(schema::Value::metadata, Wire::bytes)) {
      value.has_metadata = true;
      value.metadata = item.range;
    } else if (item.wire == Wire::bytes && field > ValueField::simple_value) {
      value.field = field;
      value.payload = item.range;
    } else {
      strange = true;
    }
  });
  if (value.field == ValueField::none) strange = true;
  return valid;
}

// `after` is the event's field after the summary. Unless `all` is set, the walk ends when the portion is
// full.
template <class Source>
bool walk_summary(Source& source, Range range, uint64_t after, bool all, EventRef& out) {
  Fields<Source> fields(source, range);
  typename Fields<Source>::Item item;
  for (uint64_t at = fields.at(); (all || !out.more) && fields.next(item); at = fields.at()) {
    if (!item.is(schema::Summary::value, Wire::bytes)) {
      out.strange = true;
      continue;
    }
    ValueRef value;
    if (!walk_value(source, item.range, value, out.strange)) return false;
    value.end = item.range.offset + item.range.length;
    push(out, value, {{at, range.offset + range.length - at}, after});
  }
  return fields.ok();
}

template <class Source>
bool walk_session_log(Source& source, Range range, EventRef& out) {
  return each_item(source, range, [&](const auto& item) {
    if (!item.is(schema::SessionLog::status, Wire::varint)) return;
    out.session_start = item.value == schema::SessionLog::start;
    if (item.value == schema::SessionLog::stop) out.end = schema::SessionEndInfo::success;
  });
}

template <class Source>
bool walk_run_metadata(Source& source, Range range, uint64_t at, EventRef& out) {
  ValueRef value;
  value.field = ValueField::run_metadata;
  const bool valid = each_item(source, range, [&](const auto& item) {
    if (item.is(schema::TaggedRunMetadata::tag, Wire::bytes)) value.tag = item.range;
    if (item.is(schema::TaggedRunMetadata::run_metadata, Wire::bytes)) value.payload = item.range;
  });
  push(out, value, {{}, at});
  return valid;
}

void push_untagged(EventRef& out, ValueField field, Range payload, uint64_t at) {
  ValueRef value;
  value.field = field;
  value.payload = payload;
  push(out, value, {{}, at});
}

template <class Source>
bool walk(Source& source, const ValuesPlace& from, bool all, EventRef& out) {
  bool ok = from.summary.length == 0 || walk_summary(source, from.summary, from.field, all, out);
  Fields<Source> fields(source, {from.field, source.size() - from.field});
  typename Fields<Source>::Item item;
  for (uint64_t at = fields.at(); (all || !out.more) && fields.next(item); at = fields.at()) {
    if (item.is(schema::Event::wall_time, Wire::fixed64)) {
      out.wall_time = item.as_double();
    } else if (item.is(schema::Event::step, Wire::varint)) {
      out.step = item.as_int64();
    } else if (item.wire == Wire::bytes) {
      if (item.number >= schema::Event::file_version && item.number <= schema::Event::meta_graph_def) {
        out.what = item.number;
      }
      switch (item.number) {
        case schema::Event::file_version:
          out.has_file_version = true;
          out.file_version = item.range;
          break;
        case schema::Event::graph_def:
          push_untagged(out, ValueField::graph_def, item.range, at);
          break;
        case schema::Event::summary:
          ok = walk_summary(source, item.range, fields.at(), all, out) && ok;
          break;
        case schema::Event::log_message:
          push_untagged(out, ValueField::log_message, item.range, at);
          break;
        case schema::Event::session_log:
          push_untagged(out, ValueField::session_log, item.range, at);
          ok = walk_session_log(source, item.range, out) && ok;
          break;
        case schema::Event::tagged_run_metadata:
          ok = walk_run_metadata(source, item.range, at, out) && ok;
          break;
        case schema::Event::meta_graph_def:
          push_untagged(out, ValueField::meta_graph_def, item.range, at);
          break;
        case schema::Event::source_metadata:
          out.has_source_metadata = true;
          ok = each_item(source, item.range,
                         [&](const auto& inner) {
                           if (inner.is(schema::SourceMetadata::writer, Wire::bytes))
                             out.writer = inner.range;
                         }) &&
               ok;
          break;
        case schema::Event::end:
          ok = each_item(source, item.range,
                         [&](const auto& inner) {
                           if (inner.is(schema::End::status, Wire::varint)) out.end = inner.value;
                         }) &&
               ok;
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

}  // namespace

template <class Source>
bool walk_event(Source& source, EventRef& out) {
  return walk(source, {}, true, out);
}

template <class Source>
void next_values(Source& source, EventRef& event) {
  if (!event.more) return;
  event.earlier += event.values.size();
  EventRef portion;  // the event's other fields are already known
  portion.most = event.most;
  portion.values = std::move(event.values);
  portion.values.clear();
  walk(source, event.next, false, portion);
  event.values = std::move(portion.values);
  event.more = portion.more;
  event.next = portion.next;
}

template bool walk_event<MemorySource>(MemorySource&, EventRef&);
template bool walk_event<FileSource>(FileSource&, EventRef&);
template void next_values<MemorySource>(MemorySource&, EventRef&);
template void next_values<FileSource>(FileSource&, EventRef&);

}  // namespace tbq
