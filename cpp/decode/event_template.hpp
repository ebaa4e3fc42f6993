// Templates: the bytes that all events of a tag share, so that the next event is recognised instead of
// parsed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bytes/cursor.hpp"
#include "event/event.hpp"

namespace tbq {

struct BlobSeries;

constexpr size_t kLongestTemplate = 512;

// An event with one scalar, from the end of its step on. Only the number changes: writers write the same
// bytes for a tag each time.
class ScalarTemplate {
 public:
  // Learns `bytes` with a float (width 4) or a double (width 8) at `slot`.
  void learn(Bytes bytes, size_t slot, uint32_t width) {
    size_ = bytes.size();
    slot_ = static_cast<uint32_t>(slot);
    width_ = width;
    blocks_.assign((size_ + 15) / 16, {});
    for (size_t at = 0; at < size_; ++at) {
      if (at >= slot && at < slot + width) continue;
      const size_t back = size_ - 1 - at;
      Block& block = blocks_[back / 16];
      const size_t place = 15 - back % 16;
      block.want[place / 8] |= uint64_t{bytes[at]} << (8 * (place % 8));
      block.mask[place / 8] |= uint64_t{0xff} << (8 * (place % 8));
    }
  }
  bool known() const { return width_ > 0; }

  // Whether the `size` bytes before `end` match. Fifteen bytes before them must be readable.
  bool fits(const uint8_t* end, size_t size) const {
    if (size != size_) return false;
    for (const Block& block : blocks_) {
      end -= 16;
      const uint64_t low = (load_le<uint64_t>(end) ^ block.want[0]) & block.mask[0];
      const uint64_t high = (load_le<uint64_t>(end + 8) ^ block.want[1]) & block.mask[1];
      if (low | high) return false;
    }
    return true;
  }
  double number(const uint8_t* data) const {
    return width_ == 4 ? load_le<float>(data + slot_) : load_le<double>(data + slot_);
  }

 private:
  // Sixteen bytes and a mask of those that count, from the last block to the first.
  struct Block {
    uint64_t want[2] = {};
    uint64_t mask[2] = {};
  };
  std::vector<Block> blocks_;
  size_t size_ = 0;
  uint32_t slot_ = 0;
  uint32_t width_ = 0;
};

// An event with one value that is not a scalar, from the end of its step on. Only the payload changes.
struct BlobTemplate {
  std::string before;
  std::string after;
  ValueRef value;  // its ranges are relative to the end of the step
  Kind kind = Kind::others;
  BlobSeries* series = nullptr;
};

}  // namespace tbq
