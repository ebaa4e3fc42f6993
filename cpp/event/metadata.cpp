// Parses SummaryMetadata and PluginData field by field.
#include "event/metadata.hpp"

#include "event/schema.hpp"

namespace tbq {

bool parse_metadata(Bytes bytes, TagMetadata& out) {
  bool valid = true;
  return each_field(bytes,
                    [&](const Field& field) {
                      if (field.is(schema::SummaryMetadata::plugin_data, Wire::bytes)) {
                        valid = valid && each_field(field.bytes, [&](const Field& inner) {
                                  if (inner.is(schema::PluginData::plugin_name, Wire::bytes))
                                    out.plugin = as_text(inner.bytes);
                                });
                      } else if (field.is(schema::SummaryMetadata::display_name, Wire::bytes)) {
                        out.display_name = as_text(field.bytes);
                      } else if (field.is(schema::SummaryMetadata::description, Wire::bytes)) {
                        out.description = as_text(field.bytes);
                      } else if (field.is(schema::SummaryMetadata::data_class, Wire::varint)) {
                        out.data_class = static_cast<uint32_t>(field.value);
                      }
                    }) &&
         valid;
}

Bytes plugin_content(Bytes metadata) {
  Bytes content;
  each_field(metadata, [&](const Field& field) {
    if (!field.is(schema::SummaryMetadata::plugin_data, Wire::bytes)) return;
    each_field(field.bytes, [&](const Field& inner) {
      if (inner.is(schema::PluginData::content, Wire::bytes)) content = inner.bytes;
    });
  });
  return content;
}

}  // namespace tbq
