// The table `hparams`: the hparams of each session.
#include "bytes/names.hpp"
#include "tables/hparams_plugin.hpp"
#include "tables/struct_json.hpp"

namespace tbq {
namespace {

class Hparams final : public HparamsBase {
 public:
  using HparamsBase::HparamsBase;
  // `_hparams_/session_end_info` sorts before `_hparams_/session_start_info`, so the status is already known.
  void append(const Value& value) override {
    Message message;
    if (value.row->run != run_) status_ = -1;
    run_ = value.row->run;
    if (!read(value, message)) return;
    if (message.number == schema::HparamsPluginData::session_end_info) {
      uint64_t status = 0;
      walk(value, message.bytes, [&](const Field& field) {
        if (field.is(schema::SessionEndInfo::status, Wire::varint)) status = field.value;
      });
      status_ = static_cast<int32_t>(status < 4 ? status : 0);
    }
    if (message.number != schema::HparamsPluginData::session_start_info) return;
    std::string_view group;
    walk(value, message.bytes, [&](const Field& field) {
      if (field.is(schema::SessionStartInfo::group_name, Wire::bytes)) group = as_text(field.bytes);
    });
    walk(value, message.bytes, [&](const Field& field) {
      if (field.is(schema::SessionStartInfo::hparams, Wire::bytes)) append_one(value, field.bytes, group);
    });
  }

 private:
  void append_one(const Value& value, Bytes entry, std::string_view group) {
    std::string_view name;
    Bytes bytes;
    Held held;
    if (!read_entry(entry, name, bytes) || !read_value(bytes, held)) {
      bad(value);
      return;
    }
    add_keys(value);
    name_.append(tbq::display_name(name));
    type_.append(held.type);
    if (held.type == kNumber) number_.append(held.number);
    if (held.type == kText) string_.append(utf8(value, as_text(held.bytes)));
    if (held.type == kList || held.type == kStruct) {
      std::string json;
      if (!json_value(bytes, json)) bad(value);
      string_.append(utf8(value, json));
    }
    if (held.type == kBool) bool_.append(held.flag);
    append_repeated(value, group_, group);
    if (status_ >= 0) status_column_.append(status_);
  }

  StringColumn name_{*this, "name"};
  LabelColumn type_{*this, "type", string_dictionary({"number", "string", "bool", "null", "list", "struct"})};
  NumberColumn number_{*this, "number"};
  StringColumn string_{*this, "string"};
  Named<BoolBuilder> bool_{*this, "bool"};
  StringColumn group_{*this, "group"};
  LabelColumn status_column_{*this, "status",
                             string_dictionary({"unknown", "success", "failure", "running"})};
  uint32_t run_ = UINT32_MAX;
  int32_t status_ = -1;
};

}  // namespace

std::unique_ptr<Expander> make_hparams(ValueProblems& problems) {
  return std::make_unique<Hparams>(problems);
}

}  // namespace tbq
