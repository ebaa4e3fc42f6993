// Memory for the rows of one decoder: blocks of columns in a few sizes, recycled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "io/sanitizer.hpp"
#include "io/slab.hpp"

namespace tbq {

// Blocks in large slabs, handed out in a few sizes and used again: touching fresh memory costs more than
// decoding into it. One Pool belongs to one thread at a time.
class Pool {
 public:
  // Without wall times rows have two columns. Unless blocks are `recycled`, each is memory of its own, in
  // which a sanitizer sees every stray access. Those that are kept for long keep no others, if the largest
  // have a slab each.
  explicit Pool(bool walls = true, bool recycled = !kSanitized, bool largest_apart = false)
      : columns_(walls ? 3 : 2), recycled_(recycled), largest_apart_(largest_apart) {}

  // Columns of `rows` numbers of eight bytes; rows is kSmallest times a power of four, at most kLargest.
  struct Block {
    std::shared_ptr<void> slab;
    uint8_t* data = nullptr;
    uint32_t rows = 0;
    uint16_t columns = 0;
    bool handed = false;  // a table points into it: not to be used again
    size_t bytes() const { return columns * stride(rows) * sizeof(double); }
  };
  Block acquire(uint32_t rows);
  // The first block of a series: of kFirst rows, or of kSmallest once there are very many series.
  Block first();
  void give_back(Block&& block);
  // Memory that is not given back, from the same slabs, aligned to 64 bytes.
  Block raw(size_t bytes);

  static constexpr uint32_t kSmallest = 16;
  static constexpr uint32_t kFirst = 256;
  static constexpr uint32_t kLargest = 65536;

  // From one column of a block to the next, in rows. A cache line more than the rows need: columns that are
  // filled in step would otherwise lie a power of two apart, and all fall into one set of the cache.
  static constexpr size_t stride(uint32_t rows) { return rows + (rows < kFirst ? 0U : 8U); }

 private:
  Block carve(size_t bytes, uint32_t rows, uint16_t columns);
  uint16_t columns_;
  bool recycled_;
  bool largest_apart_;
  std::shared_ptr<void> slab_;
  uint8_t* at_ = nullptr;
  size_t left_ = 0;
  size_t next_slab_ = 256 * 1024;
  size_t firsts_ = 0;
  std::vector<Block> free_[7];  // by size: kSmallest, four times that, …, kLargest
};

}  // namespace tbq
