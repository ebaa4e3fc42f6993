// The framing of `.wandb` files: blocks of 32 KiB, fragments with a CRC-32, and how reading goes on after
// damage.
#include <algorithm>

#include "bytes/crc32.hpp"
#include "formats/wandb.hpp"

namespace tbq {
namespace {

enum Fragment : uint8_t { kAll = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

// The most bytes to check in one damaged block: a hostile one would cost the square of its length.
constexpr size_t kMostChecked = size_t{4} << 20;

size_t length_at(const uint8_t* header) { return header[4] | static_cast<size_t>(header[5]) << 8; }

bool is_valid(const uint8_t* header) {
  return load_le<uint32_t>(header) == crc32(header + 6, length_at(header) + 1);
}

size_t left_in_block(uint64_t at) { return WandbWalk::kBlock - static_cast<size_t>(at % WandbWalk::kBlock); }

}  // namespace

void WandbWalk::lose(uint64_t from, uint64_t to, const char* code) {
  if (from >= to) return;
  if (!faults_.empty() && faults_.back().offset + faults_.back().length == from) {
    faults_.back().length = to - faults_.back().offset;
    return;
  }
  faults_.push_back({from, to - from, code});
}

size_t WandbWalk::resume_after(Bytes data, uint64_t offset, size_t at) const {
  const size_t block_end = std::min(data.size(), at + left_in_block(offset + at));
  size_t checked = 0;
  for (size_t i = at + 1; i + kHead <= block_end && checked < kMostChecked; ++i) {
    const uint8_t* header = data.data() + i;
    const size_t length = length_at(header);
    if ((header[6] != kAll && header[6] != kFirst) || i + kHead + length > block_end) continue;
    checked += length + 1;
    if (is_valid(header)) return i;
  }
  return block_end;
}

std::optional<Bytes> WandbWalk::next(Bytes data, uint64_t offset) {
  auto at = static_cast<size_t>(position_ - offset);
  joined_.clear();
  bool open = false;  // a first fragment was read, the last one not yet
  const auto skip_to = [&](size_t later, const char* code) {
    lose(position_, offset + later, code);
    position_ = offset + later;
    at = later;
    open = false;
    joined_.clear();
  };
  for (;;) {
    const size_t room = left_in_block(offset + at);
    if (room < kHead) {
      at += room;
      if (!open) position_ = offset + at;
      continue;
    }
    if (at > data.size() || data.size() - at < kHead) return std::nullopt;
    const uint8_t* header = data.data() + at;
    const uint8_t type = header[6];
    const size_t length = length_at(header);
    const bool fits = type >= kAll && type <= kLast && length <= room - kHead;
    if (fits && length > data.size() - at - kHead) return std::nullopt;  // it may follow
    const bool valid = fits && is_valid(header);
    if (!valid && data.size() - at < room) {
      // The block is not complete. Only a fragment that is valid and comes later proves that this one is
      // damaged.
      const size_t later = resume_after(data, offset, at);
      if (later == data.size()) return std::nullopt;
      skip_to(later, fits ? "bad_payload" : "bad_length");
      continue;
    }
    const bool in_place = type == kAll || type == kFirst;
    if (!valid || in_place == open) {
      // A fragment that is damaged, or a record without its first or last fragment.
      const size_t later = valid ? (in_place ? at : at + kHead + length) : resume_after(data, offset, at);
      skip_to(later, valid ? "torn" : fits ? "bad_payload" : "bad_length");
      continue;
    }
    const Bytes content(header + kHead, length);
    at += kHead + length;
    if (type == kAll) {
      last_ = position_;
      position_ = offset + at;
      return content;
    }
    open = true;
    if (joined_.size() <= kLongest) joined_.insert(joined_.end(), content.begin(), content.end());
    if (type == kLast) {
      last_ = position_;
      position_ = offset + at;
      if (joined_.size() <= kLongest) return Bytes(joined_);
      lose(last_, position_, "too_long");
      open = false;
      joined_.clear();
    }
  }
}

}  // namespace tbq
