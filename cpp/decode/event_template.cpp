// Compares templates in blocks of sixteen bytes, from the last block to the first.
#include "decode/event_template.hpp"

namespace tbq {

void ScalarTemplate::learn(Bytes bytes, size_t slot, uint32_t width) {
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

}  // namespace tbq
