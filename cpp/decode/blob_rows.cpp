// Grows the rows of values.
#include "decode/blob_rows.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tbq {

void BlobRows::grow(Pool& pool) {
  Pool::Block block;
  if (blocks_.empty()) {
    block = pool.acquire(Pool::kSmallest);
  } else {
    const uint32_t rows = blocks_.back().rows;
    block = pool.acquire(std::min(rows * 4, Pool::kLargest));
    if (rows < Pool::kLargest) {
      std::memcpy(block.data, blocks_.back().data, used_ * sizeof(BlobRow));
      pool.give_back(std::move(blocks_.back()));
      blocks_.pop_back();
    } else {
      before_ += used_;
      used_ = 0;
    }
  }
  rows_ = reinterpret_cast<BlobRow*>(block.data);
  capacity_ = capacity(block);
  blocks_.push_back(std::move(block));
}

void BlobRows::release(Pool& pool) {
  for (Pool::Block& block : blocks_) pool.give_back(std::move(block));
  *this = {};
}

}  // namespace tbq
