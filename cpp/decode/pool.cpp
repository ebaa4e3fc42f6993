// Carves blocks out of slabs.
#include "decode/pool.hpp"

#include <algorithm>
#include <utility>

namespace tbq {
namespace {

// The last class whose blocks may have this size: they have kSmallest rows times a power of four, or more.
size_t size_class(uint32_t rows) {
  size_t index = 0;
  for (uint32_t size = Pool::kSmallest * 4; size <= rows; size *= 4) ++index;
  return index;
}

// Few sizes, and columns that are a cache line more than a multiple of a page apart.
uint32_t rounded_up(uint32_t rows) {
  constexpr uint32_t kStep = 512;
  if (rows > Pool::kFirst) return (rows + kStep - 1) / kStep * kStep;
  uint32_t size = Pool::kSmallest;
  while (size < rows) size *= 4;
  return size;
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
  rows = rounded_up(rows);
  // Blocks of the same class may be smaller, unless it is the smallest size of the class.
  const size_t of_rows = size_class(rows);
  auto& free = free_[of_rows + (rows > kSmallest << 2 * of_rows ? 1 : 0)];
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

uint64_t Pool::expected(uint64_t rows) const {
  if (passed_ == 0) return 0;
  return static_cast<uint64_t>(static_cast<double>(rows) * static_cast<double>(left_to_read_) /
                               static_cast<double>(passed_));
}

void Pool::give_back(Block&& block) {
  if (recycled_ && block.data && !block.handed) free_[size_class(block.rows)].push_back(std::move(block));
}

Pool::Block Pool::raw(size_t bytes) { return carve(bytes, 0, 0); }

}  // namespace tbq
