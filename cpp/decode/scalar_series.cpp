// Grows chunks of scalars, and computes their spans at the end.
#include "decode/scalar_series.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tbq {

std::shared_ptr<void> ScalarChunk::owner() const {
  if (!shared_steps) return block.slab;
  if (!shared_steps.owner_before(block.slab) && !block.slab.owner_before(shared_steps)) return block.slab;
  return std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>(block.slab, shared_steps);
}

void ScalarSeries::measure() {
  for (Segment& segment : segments.all) {
    Span seen;
    seen.first_wall_time = segment.seen.first_wall_time;
    seen.last_wall_time = segment.seen.last_wall_time;
    StepSpan& known = seen.steps;
    uint64_t first = 0;
    for (const ScalarChunk& chunk : chunks) {
      const uint64_t low = std::max(segment.begin, first);
      const uint64_t high = std::min(segment.end, first + chunk.rows);
      if (low < high) {
        const int64_t* steps = chunk.steps() + (low - first);
        const uint64_t rows = high - low;
        if (known.count == 0) known.first = known.min = known.max = steps[0];
        int64_t least = known.min;
        int64_t most = known.max;
        for (uint64_t i = 0; i < rows; ++i) {
          least = std::min(least, steps[i]);
          most = std::max(most, steps[i]);
        }
        known.min = least;
        known.max = most;
        known.last = steps[rows - 1];
        segment.last_value = chunk.values()[low - first + rows - 1];
        if (const double* wall_times = chunk.wall_times()) {
          if (known.count == 0) seen.first_wall_time = wall_times[low - first];
          seen.last_wall_time = wall_times[low - first + rows - 1];
        }
        known.count += rows;
      }
      first += chunk.rows;
      if (first >= segment.end) break;
    }
    segment.seen = seen;
  }
}

// A chunk grows by copying until it is large, so that a short series stays in one piece, and only the last
// chunk may be small. Its new size is what the series will need if it continues at its rate: to clear the
// pages of rows that never come costs as much as to clear others.
void ScalarSeries::grow(Pool& pool) {
  const bool copying = !chunks.empty() && capacity < Pool::kLargest;
  ScalarChunk chunk;
  if (chunks.empty()) {
    chunk.block = pool.first();
  } else {
    const uint64_t least = copying ? uint64_t{capacity} * 2 : Pool::kFirst * 4;
    const uint64_t most = copying ? uint64_t{capacity} * 16 : Pool::kLargest;
    const uint64_t more = pool.expected(rows());
    const uint64_t wanted = (copying ? capacity : 0) + more + more / 64;
    chunk.block = pool.acquire(
        static_cast<uint32_t>(std::min<uint64_t>(std::clamp(wanted, least, most), Pool::kLargest)));
  }
  const uint32_t rows = chunk.block.rows;
  if (copying) {
    ScalarChunk& old = chunks.back();
    std::memcpy(chunk.steps(), old.steps(), size * sizeof(int64_t));
    if (chunk.has_wall_times()) std::memcpy(chunk.wall_times(), old.wall_times(), size * sizeof(double));
    std::memcpy(chunk.values(), old.values(), size * sizeof(double));
    pool.give_back(std::move(old.block));
    old = std::move(chunk);
  } else {
    if (!chunks.empty()) chunks.back().rows = size;
    before += size;
    size = 0;
    chunks.push_back(std::move(chunk));
  }
  capacity = rows;
  step_at = chunks.back().steps();
  value_at = chunks.back().values();
  wall_at = chunks.back().has_wall_times() ? chunks.back().wall_times() : value_at;
}

void ScalarSeries::release(Pool& pool) {
  for (ScalarChunk& chunk : chunks) pool.give_back(std::move(chunk.block));
  chunks.clear();
  size = capacity = 0;
  before = 0;
}

}  // namespace tbq
