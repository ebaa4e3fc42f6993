// hparams: the values of sessions, and beside them what an experiment says of its metrics and domains.
#include <cmath>
#include <cstdio>

#include "tables/expand.hpp"

namespace tbq {
namespace {

enum ValueType : int32_t { kNumber, kText, kBool, kNull, kList, kStruct };

// google.protobuf.Value: what it holds, the last of its fields wins.
struct Held {
  int32_t type = kNull;
  double number = 0;
  bool flag = false;
  Bytes bytes;
};

bool read_value(Bytes value, Held& out) {
  Cursor cursor(value);
  Field field;
  while (!cursor.empty()) {
    if (!cursor.field(field)) return false;
    if (field.is(1, Wire::varint)) out.type = kNull;
    if (field.is(2, Wire::fixed64)) {
      out.type = kNumber;
      out.number = field.as_double();
    }
    if (field.is(3, Wire::bytes)) out.type = kText;
    if (field.is(4, Wire::varint)) {
      out.type = kBool;
      out.flag = field.value != 0;
    }
    if (field.is(5, Wire::bytes)) out.type = kStruct;
    if (field.is(6, Wire::bytes)) out.type = kList;
    if (field.wire == Wire::bytes) out.bytes = field.bytes;
  }
  return true;
}

void json_text(std::string_view text, std::string& out) {
  out += '"';
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      out += '\\';
      out += letter;
    } else if (static_cast<unsigned char>(letter) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof(code), "\\u%04x", static_cast<unsigned>(letter));
      out += code;
    } else {
      out += letter;
    }
  }
  out += '"';
}

// Shortest of 15, 16 and 17 digits that reads back; NaN and infinities as JSON has them not.
void json_number(double number, std::string& out) {
  if (!std::isfinite(number)) {
    out += std::isnan(number) ? "\"NaN\"" : number > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    return;
  }
  char text[40];
  for (int digits = 15; digits <= 17; ++digits) {
    std::snprintf(text, sizeof(text), "%.*g", digits, number);
    if (std::strtod(text, nullptr) == number) break;
  }
  out += text;
}

// A Value as JSON; false where it is malformed or nested too deep.
bool json_value(Bytes value, std::string& out, int depth);

bool json_list(Bytes list, std::string& out, int depth) {
  Cursor cursor(list);
  Field field;
  bool first = true;
  out += '[';
  while (!cursor.empty()) {
    if (!cursor.field(field)) return false;
    if (!field.is(1, Wire::bytes)) continue;
    if (!first) out += ", ";
    first = false;
    if (!json_value(field.bytes, out, depth)) return false;
  }
  out += ']';
  return true;
}

// The key and the value of a map's entry.
bool read_entry(Bytes entry, std::string_view& key, Bytes& value) {
  Cursor cursor(entry);
  Field field;
  while (!cursor.empty()) {
    if (!cursor.field(field)) return false;
    if (field.is(1, Wire::bytes)) key = as_text(field.bytes);
    if (field.is(2, Wire::bytes)) value = field.bytes;
  }
  return true;
}

bool json_struct(Bytes fields, std::string& out, int depth) {
  Cursor cursor(fields);
  Field field;
  bool first = true;
  out += '{';
  while (!cursor.empty()) {
    if (!cursor.field(field)) return false;
    if (!field.is(1, Wire::bytes)) continue;
    std::string_view key;
    Bytes value;
    if (!read_entry(field.bytes, key, value)) return false;
    if (!first) out += ", ";
    first = false;
    json_text(key, out);
    out += ": ";
    if (!json_value(value, out, depth)) return false;
  }
  out += '}';
  return true;
}

bool json_value(Bytes value, std::string& out, int depth) {
  Held held;
  if (depth == 0 || !read_value(value, held)) return false;
  switch (held.type) {
    case kNumber:
      json_number(held.number, out);
      return true;
    case kText:
      json_text(as_text(held.bytes), out);
      return true;
    case kBool:
      out += held.flag ? "true" : "false";
      return true;
    case kList:
      return json_list(held.bytes, out, depth - 1);
    case kStruct:
      return json_struct(held.bytes, out, depth - 1);
    default:
      out += "null";
      return true;
  }
}

constexpr int kDeepest = 32;

// One message of HParamsPluginData: which of its fields, and the bytes.
struct Message {
  uint32_t number = 0;  // 2 experiment, 3 session start, 4 session end
  Bytes bytes;
};

class HparamsBase : public Expander {
 public:
  using Expander::Expander;

 protected:
  // False, with a problem, where the plugin's data cannot be read.
  bool read(const Value& value, Message& out) {
    Cursor cursor(plugin_content(value.metadata));
    Field field;
    while (!cursor.empty()) {
      if (!cursor.field(field)) return bad(value);
      if (field.wire == Wire::bytes && field.number >= 2 && field.number <= 4)
        out = {field.number, field.bytes};
    }
    return true;
  }
  bool bad(const Value& value) {
    report(value, "bad_hparams", "the hparams plugin's data cannot be read");
    return false;
  }
  // Calls each(field) for the fields of a message.
  template <class Each>
  bool walk(const Value& value, Bytes message, Each&& each) {
    Cursor cursor(message);
    Field field;
    while (!cursor.empty()) {
      if (!cursor.field(field)) return bad(value);
      each(field);
    }
    return true;
  }
  // Calls each(info) for the messages that an experiment lists in field `number`.
  template <class Each>
  void each_info(const Value& value, uint32_t number, Each&& each) {
    Message message;
    if (!read(value, message) || message.number != 2) return;
    walk(value, message.bytes, [&](const Field& field) {
      if (field.is(number, Wire::bytes)) each(field.bytes);
    });
  }
  void text(const Value& value, TextBuilder& column, std::string_view what) {
    if (what.empty()) {
      column.append_null();
    } else {
      append_text(column, utf8(value, what));
    }
  }
};

class Hparams final : public HparamsBase {
 public:
  using HparamsBase::HparamsBase;
  // `_hparams_/session_end_info` sorts before `_hparams_/session_start_info`, so the status is known by then.
  void append(const Value& value) override {
    Message message;
    if (value.row->run != run_) status_ = -1;
    run_ = value.row->run;
    if (!read(value, message)) return;
    if (message.number == 4) {
      uint64_t status = 0;
      walk(value, message.bytes, [&](const Field& field) {
        if (field.is(1, Wire::varint)) status = field.value;
      });
      status_ = static_cast<int32_t>(status < 4 ? status : 0);
    }
    if (message.number != 3) return;
    std::string_view group;
    walk(value, message.bytes, [&](const Field& field) {
      if (field.is(4, Wire::bytes)) group = as_text(field.bytes);
    });
    walk(value, message.bytes, [&](const Field& field) {
      if (field.is(1, Wire::bytes)) append_one(value, field.bytes, group);
    });
  }
  void finish(Batch& batch) override {
    batch.columns.push_back(name_.finish("name"));
    batch.columns.push_back(type_.finish("type"));
    batch.columns.push_back(number_.finish("number"));
    batch.columns.push_back(string_.finish("string"));
    batch.columns.push_back(bool_.finish("bool"));
    batch.columns.push_back(group_.finish("group"));
    batch.columns.push_back(status_column_.finish("status"));
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
    append_text(name_, tbq::display_name(name));
    type_.append(held.type);
    if (held.type == kNumber) {
      number_.append(held.number);
    } else {
      number_.append_null();
    }
    if (held.type == kText) {
      append_text(string_, utf8(value, as_text(held.bytes)));
    } else if (held.type == kList || held.type == kStruct) {
      std::string json;
      if (!json_value(bytes, json, kDeepest)) bad(value);
      append_text(string_, utf8(value, json));
    } else {
      string_.append_null();
    }
    if (held.type == kBool) {
      bool_.append(held.flag);
    } else {
      bool_.append_null();
    }
    if (!append_repeated(group_, utf8(value, group), budget_)) report_repeated(value);
    if (status_ < 0) {
      status_column_.append_null();
    } else {
      status_column_.append(status_);
    }
  }

  TextBuilder name_, string_, group_;
  LabelBuilder type_{dictionary_of({"number", "string", "bool", "null", "list", "struct"})};
  FixedBuilder<double> number_;
  BoolBuilder bool_;
  LabelBuilder status_column_{dictionary_of({"unknown", "success", "failure", "running"})};
  RepeatBudget budget_;
  uint32_t run_ = UINT32_MAX;
  int32_t status_ = -1;
};

class Metrics final : public HparamsBase {
 public:
  using HparamsBase::HparamsBase;
  void append(const Value& value) override {
    each_info(value, 5, [&](Bytes info) { append_one(value, info); });
  }
  void finish(Batch& batch) override {
    batch.columns.push_back(group_.finish("group"));
    batch.columns.push_back(name_.finish("name"));
    batch.columns.push_back(display_name_.finish("display_name"));
    batch.columns.push_back(description_.finish("description"));
    batch.columns.push_back(dataset_.finish("dataset"));
  }

 private:
  void append_one(const Value& value, Bytes info) {
    std::string_view group, name, display_name, description;
    uint64_t dataset = 0;
    const bool good = walk(value, info, [&](const Field& field) {
      if (field.is(1, Wire::bytes)) {
        walk(value, field.bytes, [&](const Field& inner) {
          if (inner.is(1, Wire::bytes)) group = as_text(inner.bytes);
          if (inner.is(2, Wire::bytes)) name = as_text(inner.bytes);
        });
      }
      if (field.is(3, Wire::bytes)) display_name = as_text(field.bytes);
      if (field.is(4, Wire::bytes)) description = as_text(field.bytes);
      if (field.is(5, Wire::varint)) dataset = field.value;
    });
    if (!good) return;
    add_keys(value);
    text(value, group_, group);
    append_text(name_, tbq::display_name(name));
    text(value, display_name_, display_name);
    text(value, description_, description);
    dataset_.append(static_cast<int32_t>(dataset < 3 ? dataset : 0));
  }

  TextBuilder group_, name_, display_name_, description_;
  LabelBuilder dataset_{dictionary_of({"unknown", "training", "validation"})};
};

class Domains final : public HparamsBase {
 public:
  using HparamsBase::HparamsBase;
  void append(const Value& value) override {
    each_info(value, 4, [&](Bytes info) { append_one(value, info); });
  }
  void finish(Batch& batch) override {
    batch.columns.push_back(name_.finish("name"));
    batch.columns.push_back(type_.finish("type"));
    batch.columns.push_back(display_name_.finish("display_name"));
    batch.columns.push_back(description_.finish("description"));
    batch.columns.push_back(domain_.finish("domain"));
    batch.columns.push_back(min_.finish("min"));
    batch.columns.push_back(max_.finish("max"));
  }

 private:
  void append_one(const Value& value, Bytes info) {
    std::string_view name, display_name, description;
    uint64_t type = 0;
    std::string domain;
    bool interval = false;
    double min = 0, max = 0;
    const bool good = walk(value, info, [&](const Field& field) {
      if (field.is(1, Wire::bytes)) name = as_text(field.bytes);
      if (field.is(2, Wire::bytes)) display_name = as_text(field.bytes);
      if (field.is(3, Wire::bytes)) description = as_text(field.bytes);
      if (field.is(4, Wire::varint)) type = field.value;
      if (field.is(5, Wire::bytes)) {
        domain.clear();
        if (!json_list(field.bytes, domain, kDeepest)) bad(value);
      }
      if (field.is(6, Wire::bytes)) {
        interval = true;
        walk(value, field.bytes, [&](const Field& inner) {
          if (inner.is(1, Wire::fixed64)) min = inner.as_double();
          if (inner.is(2, Wire::fixed64)) max = inner.as_double();
        });
      }
    });
    if (!good) return;
    add_keys(value);
    append_text(name_, tbq::display_name(name));
    type_.append(static_cast<int32_t>(type < 4 ? type : 0));
    text(value, display_name_, display_name);
    text(value, description_, description);
    text(value, domain_, domain);
    if (interval) {
      min_.append(min);
      max_.append(max);
    } else {
      min_.append_null();
      max_.append_null();
    }
  }

  TextBuilder name_, display_name_, description_, domain_;
  LabelBuilder type_{dictionary_of({"unset", "string", "bool", "number"})};
  FixedBuilder<double> min_, max_;
};

}  // namespace

std::unique_ptr<Expander> make_hparams(ValueProblems& problems) {
  return std::make_unique<Hparams>(problems);
}
std::unique_ptr<Expander> make_hparam_metrics(ValueProblems& problems) {
  return std::make_unique<Metrics>(problems);
}
std::unique_ptr<Expander> make_hparam_domains(ValueProblems& problems) {
  return std::make_unique<Domains>(problems);
}

}  // namespace tbq
