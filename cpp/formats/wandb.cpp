// The records of `.wandb` files: numbers become events, everything else is left to the caller.
#include "formats/wandb.hpp"

#include <algorithm>

namespace tbq {
namespace {

// Field numbers of wandb_internal.proto.
struct Record {
  static constexpr uint32_t history = 2, config = 5, stats = 7, tbrecord = 9, run = 17, exit = 18,
                            header = 21;
};
struct History {
  static constexpr uint32_t item = 1, step = 2;
};
struct Item {
  static constexpr uint32_t key = 1, nested_key = 2, boolean = 4, integer = 5, number = 6, text = 7, json = 8,
                            value_json = 16;
};
struct Stats {
  static constexpr uint32_t timestamp = 2, item = 3;
};

constexpr double kNanos = 1e-9;
constexpr std::string_view kSystem = "system/";
constexpr size_t kMostNested = 64;

struct Parsed {
  std::string_view first;  // the first part of the key
  std::string_view rest[kMostNested];
  size_t nested = 0;
  JsonNumber value;
  bool has_value = false;
};

bool parse_item(Bytes message, Parsed& out) {
  out.nested = 0;
  out.first = {};
  out.has_value = false;
  bool has_first = false;
  return each_field(message, [&](const Field& field) {
    if (field.wire == Wire::bytes) {
      const std::string_view text = as_text(field.bytes);
      if (field.number == Item::key || (field.number == Item::nested_key && !has_first)) {
        has_first = true;
        out.first = text;
      } else if (field.number == Item::nested_key) {
        if (out.nested < kMostNested) out.rest[out.nested++] = text;
      } else if (field.number == Item::value_json || field.number == Item::json) {
        out.value = json_number(text);
        out.has_value = true;
      } else if (field.number == Item::text) {
        out.value = {};
        out.has_value = true;
      }
    } else if (field.is(Item::number, Wire::fixed64)) {
      out.value = {JsonValue::real, field.as_double(), 0};
      out.has_value = true;
    } else if (field.is(Item::boolean, Wire::varint)) {
      out.value = {JsonValue::real, field.value != 0 ? 1.0 : 0.0, 0};
      out.has_value = true;
    } else if (field.is(Item::integer, Wire::varint)) {
      const auto value = static_cast<int64_t>(field.value >> 1 ^ (~(field.value & 1) + 1));
      const bool exact = value >= -(int64_t{1} << 53) && value <= int64_t{1} << 53;
      out.value = {exact ? JsonValue::real : JsonValue::integer, static_cast<double>(value), value};
      out.has_value = true;
    }
  });
}

double timestamp_of(Bytes message) {
  double seconds = 0;
  each_field(message, [&](const Field& field) {
    if (field.is(1, Wire::varint)) seconds += static_cast<double>(field.as_int64());
    if (field.is(2, Wire::varint)) seconds += static_cast<double>(field.as_int64()) * kNanos;
  });
  return seconds;
}

bool is_number(const JsonNumber& value) {
  return value.what == JsonValue::real || value.what == JsonValue::integer;
}

}  // namespace

std::string_view WandbReader::name(std::string_view first, const std::string_view* rest, size_t count) {
  if (used_names_ == names_.size()) names_.emplace_back();
  std::string& joined = names_[used_names_++];
  joined.assign(first);
  for (size_t i = 0; i < count; ++i) {
    if (!joined.empty() && joined.back() != '/') joined += '/';
    joined += rest[i];
  }
  return joined;
}

Scalar WandbReader::scalar_of(std::string_view tag, const JsonNumber& value) const {
  const bool integer = value.what == JsonValue::integer;
  if (!exact_) {
    return {tag, ScalarStyle::simple, integer ? static_cast<double>(value.integer) : value.real, 0, {}};
  }
  return {
      tag, integer ? ScalarStyle::tensor_int64 : ScalarStyle::tensor_double, value.real, value.integer, {}};
}

bool WandbReader::history(Bytes message, EventBuffer& out, Other& other) {
  scalars_.clear();
  used_names_ = 0;
  objects_.clear();
  std::optional<int64_t> step;
  double wall_time = 0;
  bool others = false;
  Parsed item;
  const bool sound = each_field(message, [&](const Field& field) {
    if (field.is(History::step, Wire::bytes)) {
      step = 0;
      each_field(field.bytes, [&](const Field& inner) {
        if (inner.is(1, Wire::varint)) step = inner.as_int64();
      });
      return;
    }
    if (!field.is(History::item, Wire::bytes) || !parse_item(field.bytes, item) || !item.has_value) return;
    if (item.nested == 0 && !item.first.empty() && item.first.front() == '_') {
      if (item.first == "_timestamp") wall_time = item.value.real;
      if (item.first == "_step" && is_number(item.value) && !step) {
        step = item.value.what == JsonValue::integer ? item.value.integer
                                                     : static_cast<int64_t>(item.value.real);
      }
      if (item.first == "_timestamp" || item.first == "_step" || item.first == "_runtime") return;
    }
    if (!is_number(item.value)) {
      if (item.value.what == JsonValue::null) return;
      others = true;
      if (item.nested > 0 && item.rest[item.nested - 1] == "_type") {
        objects_.push_back(std::string(name(item.first, item.rest, item.nested - 1)) + "/");
      }
      return;
    }
    if (item.first.empty() && item.nested == 0) return;
    const std::string_view tag = item.nested == 0 ? item.first : name(item.first, item.rest, item.nested);
    scalars_.push_back(scalar_of(tag, item.value));
  });
  if (!sound) return false;
  step_ = step.value_or(step_ + 1);
  latest_ = std::max(latest_, wall_time);
  // The width of an image or the bins of a histogram are not metrics.
  for (const std::string& object : objects_) {
    std::erase_if(scalars_, [&](const Scalar& scalar) { return scalar.tag.starts_with(object); });
  }
  if (!scalars_.empty()) out.scalars(scalars_, {wall_time, step_, true});
  other = {Record::history, step_, wall_time, message};
  return others;
}

void WandbReader::stats(Bytes message, EventBuffer& out) {
  scalars_.clear();
  used_names_ = 0;
  double wall_time = 0;
  Parsed item;
  each_field(message, [&](const Field& field) {
    if (field.is(Stats::timestamp, Wire::bytes)) wall_time = timestamp_of(field.bytes);
    if (!field.is(Stats::item, Wire::bytes) || !parse_item(field.bytes, item)) return;
    if (!item.has_value || !is_number(item.value) || item.first.empty()) return;
    scalars_.push_back(scalar_of(name(kSystem, &item.first, 1), item.value));
  });
  latest_ = std::max(latest_, wall_time);
  if (scalars_.empty()) return;
  system_step_ = std::max(system_step_ + 1, step_);
  out.scalars(scalars_, {wall_time, system_step_, true});
}

std::optional<WandbReader::Other> WandbReader::read(Bytes data, uint64_t offset, size_t enough,
                                                    EventBuffer& out) {
  while (out.pending_bytes() < enough) {
    const std::optional<Bytes> record = walk_.next(data, offset);
    if (!record) break;
    Other other;
    Other found;
    bool ours = false;
    const bool sound = each_field(*record, [&](const Field& field) {
      if (field.wire != Wire::bytes) return;
      if (field.number == Record::history) {
        ours = history(field.bytes, out, other);
        found = other;
      } else if (field.number == Record::stats) {
        stats(field.bytes, out);
      } else if (field.number == Record::run || field.number == Record::config ||
                 field.number == Record::exit || field.number == Record::tbrecord ||
                 field.number == Record::header) {
        found = {field.number, step_, latest_, field.bytes};
        ours = true;
      }
    });
    if (!sound) walk_.lose_last("bad_event");
    if (sound && ours) return found;
  }
  return std::nullopt;
}

}  // namespace tbq
