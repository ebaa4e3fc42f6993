// Packs the rows of scalars into batches: long stretches without a copy, short ones copied together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "decode/result.hpp"

namespace tbq {

// The rows of several batches in one batch, in memory of exactly that size.
ScalarBatch copied_together(std::span<const ScalarBatch> batches);
// Copies consecutive short batches together, so that a table has few chunks.
void join_short(std::vector<ScalarBatch>& batches);

class ScalarPacker {
 public:
  // Shorter stretches are copied together; longer ones are handed over without a copy.
  static constexpr uint64_t kDirect = 4096;

  // `exact`: a mostly empty last block is returned, and its rows get exactly the memory they need.
  explicit ScalarPacker(Pool& pool, bool exact = false) : pool_(pool), exact_(exact) {}

  // Adds rows [begin, end) of `from`, as rows of the series with this index.
  void add(ScalarSeries& from, uint32_t series, uint64_t begin, uint64_t end);
  // Ends the batch of copied rows.
  void finish();

  std::vector<ScalarBatch> batches;

 private:
  void copy_rows(const ScalarChunk& chunk, uint32_t series, uint32_t begin, uint32_t rows);

  Pool& pool_;
  bool exact_;
  Pool::Block packed_;
  uint32_t packed_rows_ = 0;
  std::vector<ScalarBatch::Stretch> packed_stretches_;
};

}  // namespace tbq
