// Applies EventAccumulator's rules to one event after the other.
#include "compat/accumulator.hpp"

#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "event/head.hpp"
#include "event/schema.hpp"

namespace tbq {
namespace {

Bytes within(Bytes bytes, Range range) {
  return bytes.subspan(static_cast<size_t>(range.offset), static_cast<size_t>(range.length));
}

std::string text_of(Bytes bytes, Range range) { return std::string(as_text(within(bytes, range))); }

// Whether this is a value of a summary; any other field of an event replaces the summary.
bool in_summary(const ValueRef& value) {
  switch (value.field) {
    case ValueField::graph_def:
    case ValueField::meta_graph_def:
    case ValueField::run_metadata:
    case ValueField::log_message:
    case ValueField::session_log:
      return false;
    default:
      return true;
  }
}

}  // namespace

Accumulator::Accumulator(Sizes sizes, ParseVersion parse_version)
    : sizes_(sizes), parse_version_(std::move(parse_version)) {
  const auto most = [&](LegacyKind kind) { return sizes_[static_cast<size_t>(kind)].most; };
  share_histograms_ = most(LegacyKind::histograms) == 0 && most(LegacyKind::compressed_histograms) == 0;
}

void Accumulator::add(Bytes bytes, const RecordPlace& place) {
  if (events_ > 0 && !general_only_ && (add_plain_scalar(bytes) || add_plain_value(bytes, place))) return;
  event_.clear();
  MemorySource source(bytes);
  if (!walk_event(source, event_)) {
    notes_.push_back({.what = LogNote::bad_event});
    return;
  }
  if (events_++ == 0) first_wall_time_ = event_.wall_time;
  if (event_.has_source_metadata) {
    notes_.push_back({.what = LogNote::source_writer, .bytes = text_of(bytes, event_.writer)});
  }
  if (event_.what == schema::Event::file_version) {
    version_ = parse_version_(as_text(within(bytes, event_.file_version)));
    notes_.push_back({.what = LogNote::file_version, .bytes = text_of(bytes, event_.file_version)});
  }
  maybe_purge(event_, bytes);
  std::optional<ValueRef> instead;  // the field that replaces a summary; protobuf keeps the last one
  each_value(source, event_, [&](const ValueRef& value) {
    if (!in_summary(value)) {
      instead = value;
    } else if (event_.what == schema::Event::summary) {
      add_value(event_, value, bytes, place);
    }
  });
  if (instead) add_instead(*instead, bytes);
}

void Accumulator::add_instead(const ValueRef& value, Bytes bytes) {
  struct Known {
    uint32_t what;
    ValueField field;
    LogNote::What note;
  };
  static constexpr Known known[] = {
      {schema::Event::graph_def, ValueField::graph_def, LogNote::graph},
      {schema::Event::meta_graph_def, ValueField::meta_graph_def, LogNote::meta_graph},
      {schema::Event::tagged_run_metadata, ValueField::run_metadata, LogNote::run_metadata},
  };
  for (const Known& each : known) {
    if (each.what != event_.what || each.field != value.field) continue;
    notes_.push_back(
        {.what = each.note, .tag = text_of(bytes, value.tag), .bytes = text_of(bytes, value.payload)});
  }
}

// Adds the most common event: one number without metadata.
bool Accumulator::add_plain_scalar(Bytes event) {
  const uint8_t* p = event.data();
  double wall_time;
  int64_t step;
  if (!read_head(p, event.size(), wall_time, step) || !is_in_order(step)) return false;
  const auto left = static_cast<size_t>(event.data() + event.size() - p);
  constexpr size_t kAround = 11;  // the bytes other than the tag
  if (left < kAround || left > 0x81 || p[0] != kSummaryKey || p[1] != left - 2 || p[2] != kValueKey ||
      p[3] != left - 4 || p[4] != kTagKey || p[5] != left - kAround || p[left - 5] != kSimpleValueKey) {
    return false;
  }
  Tag* tag = known({reinterpret_cast<const char*>(p + 6), left - kAround});
  if (!tag || !tag->scalars) return false;
  predictor_.follow(tag);
  tag->scalars->add({wall_time, step, load_le<float>(p + left - 4)});
  note_plain(step, wall_time);
  return true;
}

// Adds one message as TF2 and others write it: the tag, the value, and perhaps metadata that is already
// known.
bool Accumulator::add_plain_value(Bytes event, const RecordPlace& place) {
  EventHead head;
  if (!read_head(event, head) || !is_in_order(head.step)) return false;
  Cursor cursor(event.subspan(head.size));
  Bytes name;
  if (!enter_sole_value(cursor, name) || name.empty()) return false;
  Bytes payload;
  uint32_t number = 0;
  bool has_metadata = false;
  Field field;
  while (!cursor.empty()) {
    if (!cursor.field(field) || field.wire != Wire::bytes) return false;
    if (field.number == schema::Value::metadata) {
      has_metadata = true;
    } else if (field.number == schema::Value::tensor || field.number == schema::Value::image) {
      if (number != 0) return false;
      number = field.number;
      payload = field.bytes;
    } else {
      return false;
    }
  }
  if (number == 0) return false;
  const LegacyKind kind = number == schema::Value::tensor ? LegacyKind::tensors : LegacyKind::images;
  Tag* tag = known(as_text(name));
  if (!tag || (has_metadata && !tag->has_metadata) || !tag->values[static_cast<size_t>(kind)]) return false;
  predictor_.follow(tag);
  tag->values[static_cast<size_t>(kind)]->add(
      {head.wall_time, head.step, Payload(payload, event, place, kept_, most_kept_)});
  note_plain(head.step, head.wall_time);
  return true;
}

void Accumulator::note_plain(int64_t step, double wall_time) {
  ++events_;
  if (!purge_ || version_ >= 2) return;
  has_last_ = true;
  last_step_ = step;
  last_wall_time_ = wall_time;
}

Accumulator::Tag* Accumulator::known(std::string_view name) {
  Tag* tag = predictor_.guess();
  if (tag && tag->name == name) return tag;
  const auto entry = by_name_.find(name);
  return entry == by_name_.end() ? nullptr : entry->second;
}

void Accumulator::add_value(const EventRef& event, const ValueRef& value, Bytes bytes,
                            const RecordPlace& place) {
  std::string_view name = as_text(within(bytes, value.tag));
  if (value.has_metadata) {
    Tag& tag = tag_named(name);
    if (!tag.has_metadata) {
      tag.has_metadata = true;
      notes_.push_back({.what = LogNote::metadata, .tag = tag.name, .bytes = text_of(bytes, value.metadata)});
    }
  }
  const auto payload = [&] { return Payload(within(bytes, value.payload), bytes, place, kept_, most_kept_); };
  switch (value.field) {
    case ValueField::simple_value: {
      Tag& tag = tag_named(name);
      if (!tag.scalars) {
        constexpr auto kind = static_cast<size_t>(LegacyKind::scalars);
        tag.scalars = std::make_unique<Reservoir<LegacyScalar>>(sizes_[kind], memory_);
        order_[kind].push_back(&tag);
      }
      tag.scalars->add({event.wall_time, event.step, value.scalar});
      break;
    }
    case ValueField::histo: {
      Tag& tag = tag_named(name);
      add_row(LegacyKind::histograms, tag, event, payload());
      if (!share_histograms_) add_row(LegacyKind::compressed_histograms, tag, event, payload());
      break;
    }
    case ValueField::image:
      add_row(LegacyKind::images, tag_named(name), event, payload());
      break;
    case ValueField::audio:
      add_row(LegacyKind::audio, tag_named(name), event, payload());
      break;
    case ValueField::tensor:
      if (name.empty()) name = as_text(within(bytes, value.node_name));
      add_row(LegacyKind::tensors, tag_named(name), event, payload());
      break;
    default:
      break;
  }
}

void Accumulator::add_row(LegacyKind kind, Tag& tag, const EventRef& event, Payload payload) {
  const auto place = static_cast<size_t>(kind);
  if (!tag.values[place]) {
    tag.values[place] = std::make_unique<Reservoir<LegacyValue>>(sizes_[place], memory_);
    order_[place].push_back(&tag);
  }
  tag.values[place]->add({event.wall_time, event.step, std::move(payload)});
}

void Accumulator::maybe_purge(EventRef& event, Bytes bytes) {
  if (!purge_) return;
  if (version_ >= 2) {
    if (event.what == schema::Event::session_log && event.session_start) purge(event, bytes, false);
  } else if (event.step < last_step_ && event.what == schema::Event::summary) {
    purge(event, bytes, true);
  } else {
    has_last_ = true;
    last_step_ = event.step;
    last_wall_time_ = event.wall_time;
  }
}

void Accumulator::purge(EventRef& event, Bytes bytes, bool by_tags) {
  LogNote note{.what = LogNote::purge};
  if (by_tags) {
    MemorySource source(bytes);
    bool all = false;  // nothing is left to purge
    each_value(source, event, [&](const ValueRef& value) {
      if (all || !in_summary(value)) return;
      const std::string_view name = as_text(within(bytes, value.tag));
      if (name.empty()) {  // TensorBoard takes an empty name for every name
        purge_all(event.step, note.purged);
        all = true;
      } else if (const auto entry = by_name_.find(name); entry != by_name_.end()) {
        purge_tag(*entry->second, event.step, note.purged);
      }
    });
  } else {
    purge_all(event.step, note.purged);
  }
  if (std::accumulate(note.purged.begin(), note.purged.end(), uint64_t{0}) == 0) return;
  note.step = event.step;
  note.wall_time = event.wall_time;
  note.last_step = last_step_;
  note.last_wall_time = last_wall_time_;
  note.has_last = has_last_;
  notes_.push_back(std::move(note));
}

void Accumulator::purge_all(int64_t step, std::array<uint64_t, kPurgedKinds>& purged) {
  for (const auto& tag : all_) purge_tag(*tag, step, purged);
}

void Accumulator::purge_tag(Tag& tag, int64_t step, std::array<uint64_t, kPurgedKinds>& purged) {
  if (tag.scalars) purged[static_cast<size_t>(LegacyKind::scalars)] += tag.scalars->purge(step);
  constexpr auto histograms = static_cast<size_t>(LegacyKind::histograms);
  constexpr auto compressed = static_cast<size_t>(LegacyKind::compressed_histograms);
  for (size_t kind = 0; kind < kPurgedKinds; ++kind) {
    if (!tag.values[kind]) continue;
    const size_t count = tag.values[kind]->purge(step);
    purged[kind] += count;
    if (kind == histograms && !tag.values[compressed]) purged[compressed] += count;
  }
}

Accumulator::Tag& Accumulator::tag_named(std::string_view name) {
  Tag* tag = known(name);
  if (!tag) {
    all_.push_back(std::make_unique<Tag>());
    tag = all_.back().get();
    tag->name = name;
    by_name_.emplace(tag->name, tag);
  }
  predictor_.follow(tag);
  return *tag;
}

const Accumulator::Tag* Accumulator::find(std::string_view name) const {
  const auto entry = by_name_.find(name);
  return entry == by_name_.end() ? nullptr : entry->second;
}

std::vector<std::string_view> Accumulator::tags(LegacyKind kind) const {
  if (kind == LegacyKind::compressed_histograms && share_histograms_) kind = LegacyKind::histograms;
  std::vector<std::string_view> names;
  for (const Tag* tag : order_[static_cast<size_t>(kind)]) names.push_back(tag->name);
  return names;
}

const Reservoir<LegacyScalar>::Rows* Accumulator::scalars(std::string_view name) const {
  const Tag* tag = find(name);
  return tag && tag->scalars ? &tag->scalars->rows() : nullptr;
}

std::shared_ptr<const Reservoir<LegacyValue>::Rows> Accumulator::values(LegacyKind kind,
                                                                        std::string_view name) const {
  if (kind == LegacyKind::compressed_histograms && share_histograms_) kind = LegacyKind::histograms;
  const Tag* tag = find(name);
  const auto place = static_cast<size_t>(kind);
  return tag && tag->values[place] ? tag->values[place]->snapshot() : nullptr;
}

}  // namespace tbq
