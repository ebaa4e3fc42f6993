// The common base of the three hparams tables: reads what the hparams plugin stores in metadata.
#pragma once

#include <string_view>

#include "event/metadata.hpp"
#include "event/schema.hpp"
#include "tables/kinds.hpp"

namespace tbq {

// One message of HParamsPluginData: its field number and its bytes.
struct Message {
  uint32_t number = 0;  // a field of schema::HparamsPluginData
  Bytes bytes;
};

class HparamsBase : public Expander {
 public:
  using Expander::Expander;

 protected:
  // Returns false, and reports a problem, if the plugin's data cannot be read.
  bool read(const Value& value, Message& out) {
    return walk(value, plugin_content(value.metadata), [&](const Field& field) {
      if (field.wire == Wire::bytes && field.number >= schema::HparamsPluginData::experiment &&
          field.number <= schema::HparamsPluginData::session_end_info)
        out = {field.number, field.bytes};
    });
  }
  bool bad(const Value& value) {
    report(value, "bad_hparams", "the hparams plugin's data cannot be read");
    return false;
  }
  // Calls each(field) for each field of a message.
  template <class Each>
  bool walk(const Value& value, Bytes message, Each&& each) {
    return each_field(message, each) || bad(value);
  }
  // Calls each(info) for each message that an experiment lists in field `number`.
  template <class Each>
  void each_info(const Value& value, uint32_t number, Each&& each) {
    Message message;
    if (!read(value, message) || message.number != schema::HparamsPluginData::experiment) return;
    walk(value, message.bytes, [&](const Field& field) {
      if (field.is(number, Wire::bytes)) each(field.bytes);
    });
  }
};

}  // namespace tbq
