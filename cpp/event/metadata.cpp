// Parses SummaryMetadata and PluginData field by field.
#include "event/metadata.hpp"

#include "event/schema.hpp"

namespace tbq {

bool parse_metadata(Bytes bytes, TagMetadata& out) {
  Cursor cursor(bytes);
  Field field;
  while (!cursor.empty()) {
    if (!cursor.field(field)) return false;
    if (field.is(schema::SummaryMetadata::plugin_data, Wire::bytes)) {
      Cursor plugin(field.bytes);
      Field inner;
      while (!plugin.empty()) {
        if (!plugin.field(inner)) return false;
        if (inner.is(schema::PluginData::plugin_name, Wire::bytes)) out.plugin = as_text(inner.bytes);
      }
    } else if (field.is(schema::SummaryMetadata::display_name, Wire::bytes)) {
      out.display_name = as_text(field.bytes);
    } else if (field.is(schema::SummaryMetadata::description, Wire::bytes)) {
      out.description = as_text(field.bytes);
    } else if (field.is(schema::SummaryMetadata::data_class, Wire::varint)) {
      out.data_class = static_cast<uint32_t>(field.value);
    }
  }
  return true;
}

Bytes plugin_content(Bytes metadata) {
  Bytes content;
  Cursor cursor(metadata);
  Field field;
  while (!cursor.empty() && cursor.field(field)) {
    if (!field.is(schema::SummaryMetadata::plugin_data, Wire::bytes)) continue;
    Cursor plugin(field.bytes);
    Field inner;
    while (!plugin.empty() && plugin.field(inner)) {
      if (inner.is(schema::PluginData::content, Wire::bytes)) content = inner.bytes;
    }
  }
  return content;
}

}  // namespace tbq
