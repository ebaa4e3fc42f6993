// Memory for the rows of one decoder: blocks of columns in a few sizes, recycled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "io/sanitizer.hpp"
#include "io/slab.hpp"

namespace tbq {

// Blocks in large slabs, in a few sizes, recycled: touching fresh memory costs more than decoding into it.
// One thread at a time may use a Pool.
class Pool {
 public:
  // Without `wall_times`, rows have two columns. Unless blocks are `recycled`, each gets its own memory, so
  // that a sanitizer sees every stray access. With `largest_apart`, the largest blocks get their own slab, so
  // a long-lived block does not pin others.
  explicit Pool(bool wall_times = true, bool recycled = !kSanitized, bool largest_apart = false)
      : columns_(wall_times ? 3 : 2), recycled_(recycled), largest_apart_(largest_apart) {}

  // Columns of eight-byte numbers.
  struct Block {
    std::shared_ptr<void> slab;
    uint8_t* data = nullptr;
    uint32_t rows = 0;
    uint16_t columns = 0;
    bool handed = false;  // a table points into it: must not be reused
    size_t bytes() const { return columns * stride(rows) * sizeof(double); }
  };
  // Room for at least `rows` rows, which are at most kLargest.
  Block acquire(uint32_t rows);
  // The first block of a series: kFirst rows, or kSmallest if there are very many series.
  Block first();
  void give_back(Block&& block);
  // How many bytes of the part were decoded, and how many are left.
  void note_progress(uint64_t passed, uint64_t left) {
    passed_ = passed;
    left_to_read_ = left;
  }
  // How many rows are to be expected of a series that has `rows`, if it continues at its rate.
  uint64_t expected(uint64_t rows) const;
  // Memory from the same slabs that is never returned, aligned to 64 bytes.
  Block raw(size_t bytes);

  static constexpr uint32_t kSmallest = 16;
  static constexpr uint32_t kFirst = 256;
  static constexpr uint32_t kLargest = 65536;

  // The distance of a block's columns, in rows: one cache line more than the rows need. Otherwise, columns
  // that are filled together would be a power of two apart and all fall into one set of the cache.
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
  uint64_t passed_ = 0;
  uint64_t left_to_read_ = 0;
  std::vector<Block> free_[7];  // by size: from kSmallest rows on, from four times that, …, kLargest
};

}  // namespace tbq
