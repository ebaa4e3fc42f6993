// The rows of scalars in batches: long stretches as they are, short ones copied together.
#pragma once

#include <cstdint>
#include <vector>

#include "decode/result.hpp"

namespace tbq {

class ScalarPacker {
 public:
  explicit ScalarPacker(Pool& pool) : pool_(pool) {}

  // Adds rows [begin, end) of `from`, as rows of the series with this index.
  void add(ScalarSeries& from, uint32_t series, uint64_t begin, uint64_t end);
  // Ends the batch of copied rows.
  void finish();

  std::vector<ScalarBatch> batches;

 private:
  void copy_rows(const ScalarChunk& chunk, uint32_t series, uint32_t begin, uint32_t rows);

  Pool& pool_;
  Pool::Block packed_;
  uint32_t packed_rows_ = 0;
  std::vector<ScalarBatch::Stretch> packed_stretches_;
};

}  // namespace tbq
