// Carves blocks out of slabs.
#include "decode/pool.hpp"

#include <algorithm>
#include <utility>

namespace tbq {
namespace {

size_t size_class(uint32_t rows) {
  size_t index = 0;
  for (uint32_t size = Pool::kSmallest; size < rows; size *= 4) ++index;
  return index;
}

}  // namespace

Pool::Block Pool::carve(size_t bytes, uint32_t rows, uint16_t columns) {
  bytes = (bytes + 63) / 64 * 64;
  if (!recycled_ || (largest_apart_ && rows == kLargest)) {
    std::shared_ptr<void> own = make_slab(bytes);
    auto* data = static_cast<uint8_t*>(own.get());
    return {std::move(own), data, rows, columns, false};
  }
  if (bytes > left_) {
    const size_t size = (std::max(bytes, next_slab_) + 63) / 64 * 64;
    slab_ = make_slab(size);
    at_ = static_cast<uint8_t*>(slab_.get());
    left_ = size;
    next_slab_ = std::min(next_slab_ * 2, SlabCache::kLargestSlab);
  }
  uint8_t* data = at_;
  at_ += bytes;
  left_ -= bytes;
  return {slab_, data, rows, columns, false};
}

Pool::Block Pool::acquire(uint32_t rows) {
  auto& free = free_[size_class(rows)];
  if (!free.empty()) {
    Block block = std::move(free.back());
    free.pop_back();
    return block;
  }
  return carve(columns_ * stride(rows) * sizeof(double), rows, columns_);
}

Pool::Block Pool::first() {
  constexpr size_t kMostFirst = 4096;  // together 24 MB
  if (!free_[size_class(kFirst)].empty()) return acquire(kFirst);
  return acquire(++firsts_ > kMostFirst ? kSmallest : kFirst);
}

void Pool::give_back(Block&& block) {
  if (recycled_ && block.data && !block.handed) free_[size_class(block.rows)].push_back(std::move(block));
}

Pool::Block Pool::raw(size_t bytes) { return carve(bytes, 0, 0); }

}  // namespace tbq
