// Rows of values that are not scalars: one row per value, pointing to its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "decode/pool.hpp"
#include "event/kind.hpp"
#include "io/slab.hpp"

namespace tbq {

// One value that is not a scalar: its bytes, or their position in the file. Lengths are below 2^31, like
// those of events.
struct BlobRow {
  int64_t step = 0;
  double wall_time = 0;
  const uint8_t* payload = nullptr;
  const uint8_t* metadata = nullptr;  // this event's own SummaryMetadata, null if it has none
  uint64_t record = 0;                // file offset of the record
  uint32_t record_length = 0;         // the length of its payload
  uint32_t payload_length = 0;
  uint32_t metadata_length = 0;
  uint32_t payload_offset = 0;  // the offset inside the record's payload, for deferred rows
  uint32_t file = 0;
  uint32_t run = 0;  // set when the table is made
  uint32_t tag = 0;  // set when the table is made
  // The bins of a histogram whose numbers are in HistogramColumns; then `payload` points to the first number.
  // 0 if `payload` points to the value's bytes.
  uint32_t bins = 0;
  uint32_t stride = 0;  // doubles between one of these columns and the next
  ValueField field = ValueField::none;
  bool deferred = false;  // the payload is still in the file, at an offset inside the record at `record`
};

using BlobTable = std::vector<BlobRow, SlabAllocator<BlobRow>>;

// The rows of one series, in blocks of a pool.
class BlobRows {
 public:
  size_t size() const { return before_ + used_; }
  BlobRow& operator[](size_t i) { return *at(i); }
  const BlobRow& operator[](size_t i) const { return *at(i); }
  const BlobRow& front() const { return *at(0); }
  BlobRow& add(Pool& pool) {
    if (used_ == capacity_) grow(pool);
    return *new (rows_ + used_++) BlobRow;
  }
  void release(Pool& pool);

 private:
  // The first block grows by copying. Later blocks are full, except the last.
  static size_t capacity(const Pool::Block& block) { return block.bytes() / sizeof(BlobRow); }
  BlobRow* at(size_t i) const {
    size_t block = 0;
    if (const size_t first = capacity(blocks_[0]); i >= first) {
      const size_t each = capacity(blocks_[1]);
      block = 1 + (i - first) / each;
      i = (i - first) % each;
    }
    return reinterpret_cast<BlobRow*>(blocks_[block].data) + i;
  }
  void grow(Pool& pool);

  std::vector<Pool::Block> blocks_;
  BlobRow* rows_ = nullptr;  // rows of the last block
  size_t used_ = 0;          // rows used in the last block
  size_t capacity_ = 0;      // capacity of the last block
  size_t before_ = 0;        // rows in earlier blocks
};

}  // namespace tbq
