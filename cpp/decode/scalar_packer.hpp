// The rows of scalars in batches: long stretches as they are, short ones copied together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "decode/result.hpp"

namespace tbq {

// The rows of several batches in one, in memory of just that size.
ScalarBatch copied_together(std::span<const ScalarBatch> batches);
// Copies short batches that follow each other together, so that a table has few chunks.
void join_short(std::vector<ScalarBatch>& batches);

class ScalarPacker {
 public:
  // Shorter stretches are copied together; longer ones are handed over as they are.
  static constexpr uint64_t kDirect = 4096;

  // `exact`: a last block that is mostly empty is given back, and its rows get as much memory as they need.
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
