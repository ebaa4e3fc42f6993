// Appends records under a lock, and returns a status to the caller.
#include "write/event_buffer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "event/head.hpp"
#include "record/framing.hpp"

namespace tbq {
namespace {

constexpr size_t kMaxSpare = size_t{4} << 20;
constexpr size_t kMaxNotes = 1000;

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
  // An empty buffer takes a record of any size: a memory limit must not forbid one large image.
  if (dropping_ && pending_.size > 0 && (payload > room || room - payload < kOverhead)) {
    ++dropped_;
    if (!reported_dropped_) {
      reported_dropped_ = true;
      notes_.push_back({Note::dropped, {}, 0, 0});
    }
    return nullptr;
  }
  const size_t needed = pending_.size + payload + kOverhead;
  if (needed > pending_.capacity) grow(pending_, needed);
  return pending_.data.get() + pending_.size + kHeader;
}

uint32_t EventBuffer::close_record(uint8_t* payload, size_t size) {
  if (payload == nullptr) return notes_.empty() && !attention_ ? kOk : kNote;
  frame_in_place(payload, size);
  uint32_t status = pending_.size == 0 ? kWake : kOk;
  pending_.size += size + kOverhead;
  ++pending_.events;
  if (!reported_full_ && (pending_.size >= limits_.full_bytes || pending_.events >= limits_.full_events)) {
    reported_full_ = true;
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

void EventBuffer::watch(std::string_view tag, Stamp stamp, std::optional<double> value) {
  auto entry = tags_.find(tag);
  if (entry == tags_.end()) entry = tags_.emplace(std::string(tag), TagState{}).first;
  TagState& state = entry->second;
  const bool repeated = stamp.has_step && stamp.step == state.last && value && value == state.value;
  if (state.seen && !state.reported && stamp.step <= state.last && !repeated) {
    state.reported = true;
    if (notes_.size() < kMaxNotes) {
      const auto kind = stamp.step < state.last ? Note::backwards : Note::stuck;
      notes_.push_back({kind, entry->first, state.last, stamp.step});
    }
  }
  state.seen = true;
  state.last = stamp.step;
  state.value = value;
}

template <class Fill, class Watch>
uint32_t EventBuffer::append(size_t size, Stamp stamp, Fill&& fill, Watch&& watch_steps) {
  size += stamp_size(stamp);
  const std::lock_guard lock(mutex_);
  if (closed_) return kClosed;
  uint8_t* payload = open_record(size);
  if (payload != nullptr) {
    WireWriter out(payload);
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
      [&](WireWriter& out) {
        out.open(kSummaryKey, summary);
        for (const Scalar& scalar : scalars) {
          out.open(kValueKey, value_size(scalar));
          put_value(out, scalar);
        }
      },
      [&] {
        if (!limits_.watch_steps) return;
        watch_first(stamp);
        for (const Scalar& scalar : scalars) {
          const bool is_integer = scalar.style == ScalarStyle::tensor_int64;
          watch(scalar.tag, stamp, is_integer ? static_cast<double>(scalar.integer) : scalar.real);
        }
      });
}

uint32_t EventBuffer::value(std::string_view tag, uint8_t key, std::string_view payload,
                            std::string_view metadata, Stamp stamp) {
  const size_t inner = field_size(tag.size()) + (key != 0 ? field_size(payload.size()) : 0) +
                       (metadata.empty() ? 0 : field_size(metadata.size()));
  const size_t summary = field_size(inner);
  return append(
      field_size(summary), stamp,
      [&](WireWriter& out) {
        out.open(kSummaryKey, summary);
        out.open(kValueKey, inner);
        out.field(kTagKey, tag);
        if (key != 0) out.field(key, payload);
        if (!metadata.empty()) out.field(kMetadataKey, metadata);
      },
      [&] {
        watch_first(stamp);
        watch(tag, stamp);
      });
}

uint32_t EventBuffer::summary(std::string_view summary, Stamp stamp) {
  return append(
      field_size(summary.size()), stamp, [&](WireWriter& out) { out.field(kSummaryKey, summary); },
      [&] { watch_first(stamp); });
}

uint32_t EventBuffer::fields(std::string_view fields, Stamp stamp) {
  return append(fields.size(), stamp, [&](WireWriter& out) { out.bytes(fields); }, [] {});
}

Chunk EventBuffer::swap_out() {
  const std::lock_guard lock(mutex_);
  reported_full_ = false;
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

bool EventBuffer::has_tag(std::string_view tag) const {
  const std::lock_guard lock(mutex_);
  return tags_.find(tag) != tags_.end();
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
  reported_dropped_ = false;
}

void EventBuffer::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

void EventBuffer::forget() {
  const std::lock_guard lock(mutex_);
  pending_.size = 0;
  pending_.events = 0;
  reported_full_ = false;
  reported_dropped_ = false;
  dropping_ = false;
  attention_ = false;
  dropped_ = 0;
  notes_.clear();
  tags_.clear();
  expected_after_.reset();
}

void EventBuffer::forget_steps() {
  const std::lock_guard lock(mutex_);
  tags_.clear();
  expected_after_.reset();
}

size_t EventBuffer::pending_bytes() const {
  const std::lock_guard lock(mutex_);
  return pending_.size;
}

uint64_t EventBuffer::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

}  // namespace tbq
