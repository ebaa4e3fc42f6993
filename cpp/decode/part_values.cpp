// The general path from an event to rows, for every kind of value.
#include <algorithm>

#include "decode/part_decoder.hpp"
#include "event/scalar_tensor.hpp"

namespace tbq {
namespace {

// Whether the plugin of the tag decides the value's kind.
bool kind_by_plugin(const ValueRef& value) {
  return value.field == ValueField::tensor || value.field == ValueField::none;
}

// dtype is the first field that any writer writes, so a few bytes are enough.
uint64_t dtype_number(const ValueRef& value, const EventBytes& bytes) {
  constexpr uint8_t kDtypeKey = schema::key(schema::Tensor::dtype, Wire::varint);
  const Bytes head = bytes.of({value.payload.offset, std::min<uint64_t>(value.payload.length, 4)});
  return head.size() >= 2 && head[0] == kDtypeKey && head[1] < 0x80 ? head[1] : 0;
}

// The status of a SessionEndInfo of the hparams plugin; 0 if the metadata holds something else.
uint64_t session_end(Bytes metadata) {
  uint64_t status = 0;
  each_field(plugin_content(metadata), [&](const Field& field) {
    if (!field.is(schema::HparamsPluginData::session_end_info, Wire::bytes)) return;
    each_field(field.bytes, [&](const Field& inner) {
      if (inner.is(schema::SessionEndInfo::status, Wire::varint)) status = inner.value;
    });
  });
  return status;
}

}  // namespace

void EndMark::add(uint64_t status, double wall) {
  if ((status != schema::SessionEndInfo::success && status != schema::SessionEndInfo::failure) || !(wall > 0))
    return;
  merge({true, status == schema::SessionEndInfo::failure, wall});
}

uint64_t lead_of(const ValueRef& value, const EventBytes& bytes) {
  const Bytes first = bytes.of({value.payload.offset, value.payload.length > 0 ? 1U : 0U});
  return first.empty() ? 0 : lead_bit(first[0]);
}

Bytes EventBytes::read(Range range) const {
  const uint8_t* data = source_->at(range.offset, static_cast<size_t>(range.length));
  return data ? Bytes(data, static_cast<size_t>(range.length)) : Bytes();
}

std::string_view tag_of(const ValueRef& value, const EventBytes& bytes) {
  const std::string_view name = untagged_name(value.field);
  return name.empty() ? as_text(bytes.of(value.tag)) : name;
}

// If the bytes are in the file, values to be stored are kept as references.
void PartDecoder::add_event(uint64_t at, const EventBytes& bytes) {
  if (event_.has_file_version && (part_.begin > 0 || part_.records + part_.passed > 0)) {
    Session session;
    session.offset = at;
    begin_session(session);
  }
  now_->headed = now_->headed || event_.has_file_version;
  if (event_.has_file_version && part_.file_version.empty()) {
    part_.file_version = as_text(bytes.of(event_.file_version));
  }
  if (event_.writer.length > 0 && part_.writer.empty()) part_.writer = as_text(bytes.of(event_.writer));
  if (event_.session_start) now_->start.add(event_.step);
  if (event_.end != 0) part_.end_mark.add(event_.end, event_.wall_time);
  // The mark that a writer leaves at its end has the time of day, whatever times its values have.
  const bool is_mark = event_.end != 0 && event_.what == 0;
  note_record(is_mark ? 0 : event_.wall_time);
  if (!event_.has_file_version && !event_.session_start && !is_mark)
    now_->first_event.merge({true, event_.wall_time});
  if (!part_.has_event) part_.first_event_step = event_.step;
  part_.has_event = true;
  if (after_fault_) {
    for (; open_fault_ < part_.faults.size(); ++open_fault_) {
      part_.faults[open_fault_].has_after = true;
      part_.faults[open_fault_].step_after = event_.step;
    }
    after_fault_ = false;
  }
  bytes.each_value(event_, [&](const ValueRef& value) { add_value(at, value, bytes); });
}

void PartDecoder::add_value(uint64_t at, const ValueRef& value, const EventBytes& bytes) {
  TagEntry& entry = entry_of(value, bytes);
  learn_metadata(entry, value, bytes);
  now_->steps.add(event_.step);
  scalars_.predictor().follow(&entry);
  if (value.field == ValueField::simple_value) {
    scalars_.store(entry, event_.step, event_.wall_time, value.scalar);
    // The number ends the event, after its key, and nothing else follows the tag.
    const Bytes event = bytes.memory();
    if (alone(value, bytes) && value.tag.offset + value.tag.length + 5 == event.size() &&
        event[event.size() - 5] == kSimpleValueKey) {
      FastScalars::learn(entry, event, event.size() - 4, 4);
    }
    return;
  }
  Kind kind = kind_of(value.field, entry.plugin);
  if (kind == Kind::hparams && value.has_metadata)
    part_.end_mark.add(session_end(bytes.of(value.metadata)), event_.wall_time);
  if (kind_by_plugin(value) && !entry.plugin_known) entry.assumed = true;
  if (entry.dtype == 0 && value.field == ValueField::tensor) entry.dtype = dtype_number(value, bytes);
  bool refused = false;
  if (kind == Kind::scalars) {
    if (add_scalar_tensor(entry, value, bytes)) return;
    ++entry.refused;  // still a tensor
    refused = true;
    kind = Kind::tensors;
  }
  BlobSeries& series = entry.blobs[static_cast<uint8_t>(kind)];
  series.segments.note(session_, series.rows.size(), event_.step, event_.wall_time);
  if (wants(kind) && entry.selected && in_range(event_.step)) add_blob(at, value, bytes, entry, series, kind);
  // An end of a session is more than a row.
  if (!refused && kind != Kind::hparams && kind != Kind::logs && alone(value, bytes))
    FastBlobs::learn(entry, value, bytes.memory(), kind, series);
}

// Returns false if the value is not exactly one number.
bool PartDecoder::add_scalar_tensor(TagEntry& entry, const ValueRef& value, const EventBytes& bytes) {
  if (value.payload.length > kLargeRecord) return false;
  const ScalarTensor number = scalar_of_tensor(bytes.of(value.payload));
  if (!number.valid) return false;
  if (number.rounded) ++entry.rounded;
  scalars_.store(entry, event_.step, event_.wall_time, number.value);
  if (number.slot && alone(value, bytes)) {
    FastScalars::learn(entry, bytes.memory(), static_cast<size_t>(number.slot - bytes.memory().data()),
                       static_cast<uint32_t>(element_size(number.dtype)));
  }
  return true;
}

void PartDecoder::add_blob(uint64_t at, const ValueRef& value, const EventBytes& bytes, const TagEntry& entry,
                           BlobSeries& series, Kind kind) {
  BlobRow& row = series.rows.add(pool_);
  row.step = event_.step;
  row.wall_time = event_.wall_time;
  row.field = value.field;
  row.file = part_.file;
  row.record = at;
  row.record_length = static_cast<uint32_t>(bytes.size());
  row.payload_offset = static_cast<uint32_t>(value.payload.offset);
  row.payload_length = static_cast<uint32_t>(value.payload.length);
  if (options_.steps_only) return;
  const bool in_file = bytes.memory().empty() || (options_.defer && bytes.size() > kLargeRecord);
  if (in_file && value.payload.length > 0) {
    row.deferred = true;
  } else {
    const Bytes payload = bytes.of(value.payload);
    const bool histogram =
        kind == Kind::histograms && value.field == ValueField::tensor && !options_.general_only;
    const uint64_t left = std::min(part_.limit, reader_.end()) - at;
    if (!histogram || !blobs_.store_histogram(at, left, payload, series, row)) {
      row.payload = part_.arena.copy(payload.data(), payload.size());
    }
  }
  if (value.has_metadata) {
    const Bytes metadata = bytes.of(value.metadata);
    const bool known = !entry.metadata.empty() && std::ranges::equal(entry.metadata.back().bytes, metadata);
    row.metadata =
        known ? entry.metadata.back().bytes.data() : part_.arena.copy(metadata.data(), metadata.size());
    row.metadata_length = static_cast<uint32_t>(metadata.size());
  }
}

// The first metadata of a tag applies to all of its values; this value may carry it.
void PartDecoder::learn_metadata(TagEntry& entry, const ValueRef& value, const EventBytes& bytes) {
  entry.fields |= static_cast<uint16_t>(1U << static_cast<unsigned>(value.field));
  entry.leads |= lead_of(value, bytes);
  if (!entry.begun) {
    entry.begun = true;
    entry.first_field = value.field;
    entry.first_has_metadata = value.has_metadata;
  }
  if (knows_metadata(entry)) return;
  if (!value.has_metadata) {
    // A value that matches an earlier session's template may carry this session's first metadata. It must not
    // take the fast path.
    if (!entry.metadata.empty()) entry.forget_templates();
    return;
  }
  const Bytes metadata = bytes.of(value.metadata);
  SessionMetadata first;
  first.session = session_;
  if (!entry.metadata.empty() && std::ranges::equal(entry.metadata.back().bytes, metadata)) {
    first.parsed = entry.metadata.back().parsed;
    first.bytes = entry.metadata.back().bytes;
  } else {
    auto parsed = std::make_shared<TagMetadata>();
    if (!parse_metadata(metadata, *parsed)) return;
    first.parsed = std::move(parsed);
    first.bytes = {part_.arena.copy(metadata.data(), metadata.size()), metadata.size()};
  }
  if (!entry.plugin_known) entry.plugin = first.parsed->plugin;
  entry.plugin_known = true;
  entry.metadata.push_back(std::move(first));
}

// Whether the event is in memory, and has this one value and nothing after it.
bool PartDecoder::alone(const ValueRef& value, const EventBytes& bytes) const {
  return !bytes.memory().empty() && event_.complete() && event_.values.size() == 1 &&
         value.end == bytes.size();
}

std::string_view PartDecoder::name_of(const ValueRef& value, const EventBytes& bytes) const {
  const std::string_view tag = tag_of(value, bytes);
  const auto other = part_.renamed.find(tag);
  return other == part_.renamed.end() ? tag : std::string_view(other->second);
}

TagEntry& PartDecoder::entry_of(const ValueRef& value, const EventBytes& bytes) {
  if (options_.renamed) part_.logged.emplace(tag_of(value, bytes));
  const std::string_view tag = name_of(value, bytes);
  if (TagEntry* guess = scalars_.predictor().guess(); guess && guess->tag == tag) return *guess;
  if (TagEntry* known = part_.tags.find(tag)) return *known;
  TagEntry& added = part_.tags.add(tag);
  added.selected = selected(tag);
  added.plugin_known = known_elsewhere(added.tag, added.plugin);
  return added;
}

bool PartDecoder::known_elsewhere(const std::string& tag, std::string& plugin) const {
  if (options_.plugins) {
    const auto known = options_.plugins->find(tag);
    if (known != options_.plugins->end()) {
      plugin = known->second;
      return true;
    }
  }
  for (const Part* part : options_.before) {
    const TagEntry* entry = part->tags.find(tag);
    if (!entry || !entry->plugin_known) continue;
    plugin = entry->plugin;
    return true;
  }
  return false;
}

}  // namespace tbq
