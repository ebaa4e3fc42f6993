// Handles large records: decides whether they must be read, and learns tags from those that are not.
#include <algorithm>

#include "decode/part_decoder.hpp"

namespace tbq {
namespace {

constexpr uint64_t kHeldRecord = uint64_t{1} << 20;  // records up to this size are held in memory

}  // namespace

// Skips a long record if nothing of it is wanted; otherwise all of it is read and verified.
Large PartDecoder::large(uint64_t at, uint64_t length) {
  unsure_ = false;
  if (!options_.careful && length > options_.skippable) {
    const Use use = use_of(at, length);
    const double wall = event_.wall_time;
    const bool sound = use == Use::tags && walker_.recovery().agrees(at, length);
    if (sound) learn_tags(at, length);
    if (sound || use == Use::none) {
      ++part_.passed;
      part_.claimed.add(wall);
      return Large::pass;
    }
    if (use == Use::tags) {
      unsure_ = true;
      part_.in_doubt = true;
    }
  }
  const bool bytes_wanted =
      !options_.defer && !options_.steps_only && (options_.kinds & ~bit(Kind::scalars)) != 0;
  return length <= kHeldRecord || bytes_wanted ? Large::bytes : Large::place;
}

bool PartDecoder::large_record(uint64_t at, uint64_t length, Bytes payload) {
  if (!payload.empty()) {
    one_record(at, payload);
    return true;
  }
  event_.clear();
  FileSource source(reader_, at + kHeader, length);
  if (walk_event(source, event_) && tags_readable()) {
    add_event(at, EventBytes(source));
  } else if (const uint8_t* data = reader_.view(at + kHeader, static_cast<size_t>(length))) {
    one_record(at, {data, static_cast<size_t>(length)});
  }
  return true;
}

// Records the tags that a damaged record seems to name.
void PartDecoder::refused(uint64_t at, uint64_t length) {
  if (!unsure_) return;
  event_.clear();
  FileSource source(reader_, at + kHeader, length);
  if (!walk_event(source, event_) || !tags_readable()) return;
  const EventBytes bytes(source);
  for (const ValueRef& value : event_.values) part_.unsure.emplace(name_of(value, bytes));
}

// Whether the event just walked has few values and is small apart from its payloads.
bool PartDecoder::tags_readable() const {
  return !event_.more && std::all_of(event_.values.begin(), event_.values.end(), [](const ValueRef& value) {
    return value.tag.length <= kLargeRecord && value.metadata.length <= kLargeRecord;
  });
}

// What an unverified record is good for, as far as this is known without reading its payloads. The answer
// must not depend on where the part begins: a record that the walk from the file's start would skip must not
// count here either.
PartDecoder::Use PartDecoder::use_of(uint64_t at, uint64_t length) {
  event_.clear();
  FileSource source(reader_, at + kHeader, length);
  if (!walk_event(source, event_) || event_.strange || event_.values.empty() || !tags_readable() ||
      event_.has_file_version || event_.session_start || event_.writer.length > 0) {
    return Use::rows;
  }
  if (part_.begin == 0 && part_.records == 0) return Use::rows;  // all readers need the start of the run
  const EventBytes bytes(source);
  for (const ValueRef& value : event_.values) {
    if (yields_row(value, bytes)) return Use::rows;
  }
  // Before leads_on(), which reads elsewhere and would move the window away.
  const bool agreed = std::all_of(event_.values.begin(), event_.values.end(),
                                  [&](const ValueRef& value) { return agrees(value, bytes); });
  if (!leads_on(at, at + kOverhead + length)) return Use::rows;
  return agreed ? Use::none : Use::tags;
}

// Whether a value is wanted, or may be, if its claims are true.
bool PartDecoder::yields_row(const ValueRef& value, const EventBytes& bytes) {
  const std::string tag(name_of(value, bytes));
  const TagEntry* entry = part_.tags.find(tag);
  if (entry ? !entry->selected : !selected(tag)) return false;
  std::string plugin;
  bool known = value.field != ValueField::tensor && value.field != ValueField::none;
  if (!known) known = entry ? entry->plugin_known : known_elsewhere(tag, plugin);
  if (entry) plugin = entry->plugin;
  if (!known && value.has_metadata) {
    TagMetadata metadata;
    known = parse_metadata(bytes.of(value.metadata), metadata);
    plugin = metadata.plugin;
  }
  if (!known) {
    unsure_ = unsure_ || options_.kinds != 0;
    return options_.kinds != 0;
  }
  const Kind kind = kind_of(value.field, plugin);
  // A value of a scalar tag that is not one number is a tensor, and counted.
  const bool refusable = kind == Kind::scalars && value.field == ValueField::tensor;
  return wants(kind) || (refusable && wants(Kind::tensors));
}

// Whether an unverified value agrees with the verified values of its tag, so that damage must have hit two
// places to make it something else. The name of a tag decides nothing alone: that the tag is not selected, or
// that its tensors have an unwanted kind, counts only in a verified record.
bool PartDecoder::agrees(const ValueRef& value, const EventBytes& bytes) {
  if (!untagged_name(value.field).empty()) return false;  // a single key would decide everything
  const std::string tag(name_of(value, bytes));
  TagEntry* here = part_.tags.find(tag);
  const TagEntry* known = nullptr;  // the entry with this session's metadata: the first counts
  uint16_t fields = 0;
  uint64_t leads = 0;
  Kinds kinds = 0;
  const auto add = [&](const TagEntry* entry) {
    if (!entry) return;
    fields |= entry->fields;
    leads |= entry->leads;
    kinds |= entry->kinds();
    if (!known || known->metadata.empty()) known = entry;
  };
  for (const Part* part : options_.before) add(part->tags.find(tag));
  add(here);
  if (!known || (fields >> static_cast<unsigned>(value.field) & 1) == 0) return false;
  if ((lead_of(value, bytes) & ~leads) != 0) return false;  // a message of another type in this field
  if ((kinds & options_.kinds) != 0) return false;
  if (here) here->passed = true;  // set even if another check below fails
  if (value.has_metadata) {
    const bool is_known = known == here ? knows_metadata(*here) : session_ == 0 && !known->metadata.empty();
    if (!is_known) return false;
    const Bytes metadata = bytes.of(value.metadata);
    if (std::ranges::equal(known->metadata.back().bytes, metadata)) return true;
    TagMetadata parsed;
    return parse_metadata(metadata, parsed) && parsed.plugin == known->plugin;
  }
  if (value.field != ValueField::tensor) return true;
  constexpr Kinds kNeverLarge = bit(Kind::scalars) | bit(Kind::logs);  // as tensors
  return (options_.kinds & ~kNeverLarge) == 0 && value.payload.length > kLargeRecord;
}

// Whether a record or the end of the file follows at `next`, and no small record seems to end there. If bytes
// were cut out of this record, its length would lead past records that are now inside it.
bool PartDecoder::leads_on(uint64_t at, uint64_t next) {
  const uint64_t from = std::max(at + kHeader, next - std::min<uint64_t>(next, kLargeRecord + kOverhead));
  const uint8_t* data = reader_.view(from, static_cast<size_t>(next - from));
  if (!data) return false;
  static_assert(kLargeRecord < 1 << 16);  // so the upper six bytes of a small record's length are zeros
  for (uint64_t offset = 0; offset + kOverhead <= next - from;) {
    if (data[offset + 7] != 0) {
      offset += 6;
      continue;
    }
    uint64_t length;
    if (load_le<uint64_t>(data + offset) == next - from - offset - kOverhead &&
        read_header(data + offset, length)) {
      return false;
    }
    ++offset;
  }
  return walker_.recovery().followed(next);
}

// Learns the tags of the verified record at `at`, although none of its values is wanted.
void PartDecoder::learn_tags(uint64_t at, uint64_t length) {
  event_.clear();
  FileSource source(reader_, at + kHeader, length);
  if (!walk_event(source, event_)) return;
  const EventBytes bytes(source);
  for (const ValueRef& value : event_.values) {
    TagEntry& entry = entry_of(value, bytes);
    learn_metadata(entry, value, bytes);
    const Kind kind = kind_of(value.field, entry.plugin);
    const bool number = value.field == ValueField::simple_value;
    Segments& segments = number ? entry.scalars.segments : entry.blobs[static_cast<uint8_t>(kind)].segments;
    if (!segments.is_open(session_)) {
      segments.note(session_, number ? entry.scalars.rows() : 0, event_.step, event_.wall_time);
    }
  }
}

}  // namespace tbq
