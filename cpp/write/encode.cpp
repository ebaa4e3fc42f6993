// Encodes Event and Summary straight into framed records: sizes are computed first, so every byte is written
// once.
#include "write/encode.hpp"

#include <algorithm>
#include <utility>

#include "bytes/crc32c.hpp"
#include "bytes/wire.hpp"

namespace tbq {
namespace {

constexpr size_t kHeader = 12;  // length and its CRC
constexpr size_t kFooter = 4;   // CRC of the payload
constexpr size_t kMaxSpare = size_t{4} << 20;
constexpr size_t kMaxNotes = 1000;

// SummaryMetadata { plugin_data { plugin_name: "scalars" } }
constexpr std::string_view kScalarsMetadata("\x0a\x09\x0a\x07scalars", 11);

// Keys: field number << 3 | wire type.
constexpr uint8_t kEventWallTime = 0x09;
constexpr uint8_t kEventStep = 0x10;
constexpr uint8_t kEventSummary = 0x2a;
constexpr uint8_t kSummaryValue = 0x0a;
constexpr uint8_t kValueTag = 0x0a;
constexpr uint8_t kValueSimple = 0x15;
constexpr uint8_t kValueTensor = 0x42;
constexpr uint8_t kValueMetadata = 0x4a;
constexpr uint8_t kTensorDtype = 0x08;
constexpr uint8_t kTensorFloat = 0x2a;
constexpr uint8_t kTensorDouble = 0x32;
constexpr uint8_t kTensorInt64 = 0x52;
constexpr uint8_t kDtFloat = 1;
constexpr uint8_t kDtDouble = 2;
constexpr uint8_t kDtInt64 = 9;

bool on_wire(double value) { return std::bit_cast<uint64_t>(value) != 0; }

size_t stamp_size(Stamp stamp) {
  return (on_wire(stamp.wall_time) ? 9 : 0) +
         (stamp.step != 0 ? 1 + varint_size(static_cast<uint64_t>(stamp.step)) : 0);
}

void put_stamp(Out& out, Stamp stamp) {
  if (on_wire(stamp.wall_time)) {
    out.byte(kEventWallTime);
    out.fixed(stamp.wall_time);
  }
  if (stamp.step != 0) {
    out.byte(kEventStep);
    out.varint(static_cast<uint64_t>(stamp.step));
  }
}

size_t tensor_size(const Scalar& scalar) {
  switch (scalar.style) {
    case ScalarStyle::tensor_float:
      return 2 + 2 + 4;
    case ScalarStyle::tensor_double:
      return 2 + 2 + 8;
    case ScalarStyle::tensor_int64:
      return 2 + field_size(varint_size(static_cast<uint64_t>(scalar.whole)));
    case ScalarStyle::simple:
      break;
  }
  return 0;
}

std::string_view metadata_of(const Scalar& scalar) {
  if (!scalar.metadata.empty() || scalar.style == ScalarStyle::simple) return scalar.metadata;
  return kScalarsMetadata;
}

size_t value_size(const Scalar& scalar) {
  const std::string_view metadata = metadata_of(scalar);
  return field_size(scalar.tag.size()) +
         (scalar.style == ScalarStyle::simple ? 5 : field_size(tensor_size(scalar))) +
         (metadata.empty() ? 0 : field_size(metadata.size()));
}

void put_value(Out& out, const Scalar& scalar) {
  out.field(kValueTag, scalar.tag);
  if (scalar.style == ScalarStyle::simple) {
    out.byte(kValueSimple);
    out.fixed(static_cast<float>(scalar.real));
  } else {
    out.open(kValueTensor, tensor_size(scalar));
    out.byte(kTensorDtype);
    if (scalar.style == ScalarStyle::tensor_float) {
      out.byte(kDtFloat);
      out.open(kTensorFloat, 4);
      out.fixed(static_cast<float>(scalar.real));
    } else if (scalar.style == ScalarStyle::tensor_double) {
      out.byte(kDtDouble);
      out.open(kTensorDouble, 8);
      out.fixed(scalar.real);
    } else {
      out.byte(kDtInt64);
      out.open(kTensorInt64, varint_size(static_cast<uint64_t>(scalar.whole)));
      out.varint(static_cast<uint64_t>(scalar.whole));
    }
  }
  const std::string_view metadata = metadata_of(scalar);
  if (!metadata.empty()) out.field(kValueMetadata, metadata);
}

// Fills in the header and footer around a payload that is in place.
void seal(uint8_t* payload, size_t size) {
  const uint64_t length = size;
  Out header(payload - kHeader);
  header.fixed(length);
  header.fixed(crc_mask(crc32c(0, payload - kHeader, sizeof(length))));
  Out footer(payload + size);
  footer.fixed(crc_mask(crc32c(0, payload, size)));
}

void grow(Chunk& chunk, size_t needed) {
  const size_t capacity = std::max({needed, chunk.capacity * 2, size_t{1} << 16});
  auto data = std::make_unique_for_overwrite<uint8_t[]>(capacity);
  if (chunk.size > 0) std::memcpy(data.get(), chunk.data.get(), chunk.size);
  chunk.data = std::move(data);
  chunk.capacity = capacity;
}

}  // namespace

uint8_t* EventBuffer::open_record(size_t payload) {
  const size_t room = limits_.max_bytes - std::min(pending_.size, limits_.max_bytes);
  // An empty buffer takes a record of any size: a limit on memory must not forbid one large image.
  if (dropping_ && pending_.size > 0 && (payload > room || room - payload < kHeader + kFooter)) {
    ++dropped_;
    if (!told_dropped_) {
      told_dropped_ = true;
      notes_.push_back({Note::dropped, {}, 0, 0});
    }
    return nullptr;
  }
  const size_t needed = pending_.size + kHeader + payload + kFooter;
  if (needed > pending_.capacity) grow(pending_, needed);
  return pending_.data.get() + pending_.size + kHeader;
}

uint32_t EventBuffer::close_record(uint8_t* payload, size_t size) {
  if (payload == nullptr) return notes_.empty() && !attention_ ? kOk : kNote;
  seal(payload, size);
  uint32_t status = pending_.size == 0 ? kWake : kOk;
  pending_.size += kHeader + size + kFooter;
  ++pending_.events;
  if (!told_full_ && (pending_.size >= limits_.full_bytes || pending_.events >= limits_.full_events)) {
    told_full_ = true;
    status |= kFull;
  }
  if (!dropping_ && pending_.size > limits_.max_bytes) status |= kOver;
  if (!notes_.empty() || attention_) status |= kNote;
  return status;
}

void EventBuffer::watch_first(Stamp stamp) {
  if (!stamp.has_step || !expected_after_) return;
  if (stamp.step < *expected_after_) notes_.push_back({Note::behind, {}, *expected_after_, stamp.step});
  expected_after_.reset();
}

void EventBuffer::watch(std::string_view tag, Stamp stamp) {
  auto found = tags_.find(tag);
  if (found == tags_.end()) found = tags_.emplace(std::string(tag), TagState{}).first;
  TagState& state = found->second;
  if (state.seen && !state.told && stamp.step <= state.last) {
    state.told = true;
    if (notes_.size() < kMaxNotes) {
      const auto kind = stamp.step < state.last ? Note::backwards : Note::stuck;
      notes_.push_back({kind, found->first, state.last, stamp.step});
    }
  }
  state.seen = true;
  state.last = stamp.step;
}

template <class Fill, class Watch>
uint32_t EventBuffer::append(size_t size, Stamp stamp, Fill&& fill, Watch&& watch_steps) {
  size += stamp_size(stamp);
  const std::lock_guard lock(mutex_);
  if (closed_) return kClosed;
  uint8_t* payload = open_record(size);
  if (payload != nullptr) {
    Out out(payload);
    put_stamp(out, stamp);
    fill(out);
  }
  watch_steps();
  return close_record(payload, size);
}

uint32_t EventBuffer::scalars(std::span<const Scalar> scalars, Stamp stamp) {
  size_t summary = 0;
  for (const Scalar& scalar : scalars) summary += field_size(value_size(scalar));
  return append(
      field_size(summary), stamp,
      [&](Out& out) {
        out.open(kEventSummary, summary);
        for (const Scalar& scalar : scalars) {
          out.open(kSummaryValue, value_size(scalar));
          put_value(out, scalar);
        }
      },
      [&] {
        watch_first(stamp);
        for (const Scalar& scalar : scalars) watch(scalar.tag, stamp);
      });
}

uint32_t EventBuffer::value(std::string_view tag, uint8_t key, std::string_view payload,
                            std::string_view metadata, Stamp stamp) {
  const size_t inner = field_size(tag.size()) + (key != 0 ? field_size(payload.size()) : 0) +
                       (metadata.empty() ? 0 : field_size(metadata.size()));
  const size_t summary = field_size(inner);
  return append(
      field_size(summary), stamp,
      [&](Out& out) {
        out.open(kEventSummary, summary);
        out.open(kSummaryValue, inner);
        out.field(kValueTag, tag);
        if (key != 0) out.field(key, payload);
        if (!metadata.empty()) out.field(kValueMetadata, metadata);
      },
      [&] {
        watch_first(stamp);
        watch(tag, stamp);
      });
}

uint32_t EventBuffer::summary(std::string_view summary, Stamp stamp) {
  return append(
      field_size(summary.size()), stamp, [&](Out& out) { out.field(kEventSummary, summary); },
      [&] { watch_first(stamp); });
}

uint32_t EventBuffer::fields(std::string_view fields, Stamp stamp) {
  return append(fields.size(), stamp, [&](Out& out) { out.bytes(fields); }, [] {});
}

Chunk EventBuffer::take() {
  const std::lock_guard lock(mutex_);
  told_full_ = false;
  return std::exchange(pending_, std::exchange(spare_, {}));
}

void EventBuffer::give_back(Chunk chunk) {
  if (chunk.capacity > kMaxSpare) return;
  chunk.size = 0;
  chunk.events = 0;
  const std::lock_guard lock(mutex_);
  if (spare_.capacity < chunk.capacity) spare_ = std::move(chunk);
}

void EventBuffer::put_back(Chunk chunk) {
  const std::lock_guard lock(mutex_);
  if (pending_.size > 0) {
    const size_t needed = chunk.size + pending_.size;
    if (needed > chunk.capacity) grow(chunk, needed);
    std::memcpy(chunk.data.get() + chunk.size, pending_.data.get(), pending_.size);
    chunk.size = needed;
    chunk.events += pending_.events;
  }
  pending_ = std::move(chunk);
}

std::vector<Note> EventBuffer::notes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notes_, {});
}

void EventBuffer::expect_after(std::optional<int64_t> step) {
  const std::lock_guard lock(mutex_);
  expected_after_ = step;
}

void EventBuffer::call_attention(bool on) {
  const std::lock_guard lock(mutex_);
  attention_ = on;
}

void EventBuffer::drop_past_limit(bool on) {
  const std::lock_guard lock(mutex_);
  dropping_ = on;
  told_dropped_ = false;
}

void EventBuffer::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

void EventBuffer::forget() {
  const std::lock_guard lock(mutex_);
  pending_.size = 0;
  pending_.events = 0;
  told_full_ = false;
  told_dropped_ = false;
  dropping_ = false;
  attention_ = false;
  dropped_ = 0;
  notes_.clear();
}

size_t EventBuffer::pending_bytes() const {
  const std::lock_guard lock(mutex_);
  return pending_.size;
}

uint64_t EventBuffer::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

std::vector<uint8_t> frame(Bytes payload) {
  std::vector<uint8_t> record(kHeader + payload.size() + kFooter);
  if (!payload.empty()) std::memcpy(record.data() + kHeader, payload.data(), payload.size());
  seal(record.data() + kHeader, payload.size());
  return record;
}

size_t whole_records(Bytes records, size_t size) {
  Cursor cursor(records.first(std::min(size, records.size())));
  size_t whole = 0;
  uint64_t length;
  uint32_t crc;
  Bytes payload;
  while (cursor.fixed(length) && cursor.fixed(crc) && cursor.take(length, payload) && cursor.fixed(crc)) {
    whole = static_cast<size_t>(cursor.position() - records.data());
  }
  return whole;
}

std::optional<int64_t> last_step(Bytes tail) {
  std::optional<int64_t> last;
  size_t at = 0;
  while (at < tail.size()) {
    Cursor cursor(tail.subspan(at));
    uint64_t length;
    uint32_t length_crc;
    uint32_t payload_crc;
    Bytes payload;
    const bool valid = cursor.fixed(length) && cursor.fixed(length_crc) &&
                       length_crc == crc_mask(crc32c(0, tail.data() + at, sizeof(length))) &&
                       cursor.take(length, payload) && cursor.fixed(payload_crc) &&
                       payload_crc == crc_mask(crc32c(0, payload.data(), payload.size()));
    if (!valid) {
      ++at;
      continue;
    }
    at += kHeader + payload.size() + kFooter;
    int64_t step = 0;
    bool has_summary = false;
    Field field;
    for (Cursor event(payload); event.field(field);) {
      if (field.is(2, Wire::varint)) step = field.as_int64();
      if (field.is(5, Wire::bytes)) has_summary = true;
    }
    if (has_summary && (!last || step > *last)) last = step;
  }
  return last;
}

std::vector<uint8_t> packed_varints(std::span<const int64_t> values) {
  size_t size = 0;
  for (const int64_t value : values) size += varint_size(static_cast<uint64_t>(value));
  std::vector<uint8_t> packed(size);
  Out out(packed.data());
  for (const int64_t value : values) out.varint(static_cast<uint64_t>(value));
  return packed;
}

}  // namespace tbq
