// Copies rows into blocks of growing size, so that a table has few chunks.
#include "decode/scalar_packer.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace tbq {
ScalarBatch copied_together(std::span<const ScalarBatch> batches) {
  ScalarBatch out;
  size_t rows = 0;
  for (const ScalarBatch& batch : batches) rows += batch.rows;
  const bool wall_times = !batches.empty() && batches[0].wall_times;
  const size_t bytes = (wall_times ? 3 : 2) * rows * sizeof(double);
  if (bytes < kSlab) {
    out.owner = {::operator new(bytes), [](void* data) { ::operator delete(data); }};
  } else {
    out.owner = make_slab((bytes + kSlab - 1) / kSlab * kSlab);
  }
  auto* const steps = static_cast<int64_t*>(out.owner.get());
  auto* const values = reinterpret_cast<double*>(steps + rows);
  double* const times = wall_times ? values + rows : nullptr;
  for (const ScalarBatch& batch : batches) {
    std::memcpy(steps + out.rows, batch.steps, batch.rows * sizeof(int64_t));
    std::memcpy(values + out.rows, batch.values, batch.rows * sizeof(double));
    if (wall_times) std::memcpy(times + out.rows, batch.wall_times, batch.rows * sizeof(double));
    out.stretches.insert(out.stretches.end(), batch.stretches.begin(), batch.stretches.end());
    out.rows += batch.rows;
  }
  out.steps = steps;
  out.values = values;
  out.wall_times = times;
  return out;
}

void join_short(std::vector<ScalarBatch>& batches) {
  std::vector<ScalarBatch> joined;
  for (size_t first = 0; first < batches.size();) {
    size_t last = first;
    for (uint64_t rows = 0;
         last < batches.size() && batches[last].rows < ScalarPacker::kDirect && rows < Pool::kLargest; ++last)
      rows += batches[last].rows;
    if (last - first > 1) {
      joined.push_back(copied_together(std::span(batches).subspan(first, last - first)));
    } else {
      last = first + 1;
      joined.push_back(std::move(batches[first]));
    }
    first = last;
  }
  batches = std::move(joined);
}

void ScalarPacker::add(ScalarSeries& from, uint32_t series, uint64_t begin, uint64_t end) {
  uint64_t first = 0;
  for (ScalarChunk& chunk : from.chunks) {
    const uint64_t low = std::max(begin, first);
    const uint64_t high = std::min(end, first + chunk.rows);
    if (low < high) {
      const auto offset = static_cast<uint32_t>(low - first);
      const auto rows = static_cast<uint32_t>(high - low);
      if (rows >= kDirect) {
        finish();
        ScalarBatch batch;
        batch.owner = chunk.owner();
        batch.steps = chunk.steps() + offset;
        batch.wall_times = chunk.has_wall_times() ? chunk.wall_times() + offset : nullptr;
        batch.values = chunk.values() + offset;
        batch.rows = rows;
        batch.stretches.push_back({series, rows});
        batches.push_back(std::move(batch));
        chunk.block.handed = true;
      } else {
        copy_rows(chunk, series, offset, rows);
      }
    }
    first += chunk.rows;
    if (first >= end) break;
  }
}

void ScalarPacker::copy_rows(const ScalarChunk& chunk, uint32_t series, uint32_t begin, uint32_t rows) {
  while (rows > 0) {
    if (packed_rows_ == packed_.rows) {
      const uint32_t size = std::min(std::max(packed_.rows * 4, Pool::kFirst * 4), Pool::kLargest);
      finish();
      packed_ = pool_.acquire(size);
    }
    const uint32_t count = std::min(rows, packed_.rows - packed_rows_);
    const ScalarChunk to{packed_};
    std::memcpy(to.steps() + packed_rows_, chunk.steps() + begin, count * sizeof(int64_t));
    if (to.has_wall_times()) {
      std::memcpy(to.wall_times() + packed_rows_, chunk.wall_times() + begin, count * sizeof(double));
    }
    std::memcpy(to.values() + packed_rows_, chunk.values() + begin, count * sizeof(double));
    if (!packed_stretches_.empty() && packed_stretches_.back().series == series) {
      packed_stretches_.back().rows += count;
    } else {
      packed_stretches_.push_back({series, count});
    }
    packed_rows_ += count;
    begin += count;
    rows -= count;
  }
}

void ScalarPacker::finish() {
  if (packed_rows_ == 0) return;
  const ScalarChunk from{packed_};
  ScalarBatch batch;
  batch.owner = packed_.slab;
  batch.steps = from.steps();
  batch.wall_times = from.wall_times();
  batch.values = from.values();
  batch.rows = packed_rows_;
  batch.stretches = std::move(packed_stretches_);
  if (exact_ && packed_rows_ < packed_.rows / 2) {
    batches.push_back(copied_together(std::span(&batch, 1)));
    pool_.give_back(std::move(packed_));
  } else {
    batches.push_back(std::move(batch));
  }
  packed_stretches_.clear();
  packed_ = {};
  packed_rows_ = 0;
}

}  // namespace tbq
