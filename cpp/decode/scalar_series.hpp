// The scalars of one tag in one part of a file, as chunks of columns.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bytes/cursor.hpp"
#include "decode/pool.hpp"
#include "event/span.hpp"

namespace tbq {

// The values of one tag in one session: the range of the stored rows, and the span of all values.
struct Segment {
  uint32_t session = 0;   // index into the part's sessions
  uint64_t begin = 0;     // first stored row
  uint64_t end = 0;       // one past the last stored row
  Span seen;              // of all values, stored or not
  double last_value = 0;  // of a scalar
};

// The segments of a series; the newest one is open, and its `end` is valid only after finish().
class Segments {
 public:
  // Counts a value in the segment of `session`; `stored` rows were stored before it.
  void note(uint32_t session, uint64_t stored, int64_t step, double wall) {
    if (session != session_) [[unlikely]]
      begin(session, stored);
    open_->seen.add(step, wall);
  }
  // After note(): the value, if it is a scalar.
  void set_last(double value) { open_->last_value = value; }
  bool is_open(uint32_t session) const { return session == session_; }
  void finish(uint64_t stored) {
    if (open_) open_->end = stored;
  }
  std::vector<Segment> all;

 private:
  void begin(uint32_t session, uint64_t stored) {
    finish(stored);
    Segment segment;
    segment.session = session_ = session;
    segment.begin = segment.end = stored;
    all.push_back(segment);
    open_ = &all.back();
  }
  uint32_t session_ = UINT32_MAX;
  Segment* open_ = nullptr;
};

// One chunk of scalar rows. One block holds its columns, except steps shared with another series.
struct ScalarChunk {
  Pool::Block block;
  uint32_t rows = 0;
  std::shared_ptr<int64_t> shared_steps = {};
  bool lacks_steps = false;  // the block has no column for steps
  int64_t* steps() const {
    return shared_steps ? shared_steps.get() : reinterpret_cast<int64_t*>(block.data);
  }
  bool has_wall_times() const { return block.columns + (lacks_steps ? 1U : 0U) == 3; }
  // Null if there are no wall times.
  double* wall_times() const { return has_wall_times() ? column(block.columns - 2U) : nullptr; }
  double* values() const { return column(block.columns - 1U); }
  // Owns the columns.
  std::shared_ptr<void> owner() const;

 private:
  double* column(uint32_t number) const {
    return reinterpret_cast<double*>(block.data) + number * Pool::stride(block.rows);
  }
};

struct ScalarRow {
  int64_t step = 0;
  double wall_time = 0;
  double value = 0;
};

// The scalars of one tag.
struct ScalarSeries {
  int64_t* step_at = nullptr;
  double* wall_at = nullptr;  // without wall times, the column of the values, which are written later
  double* value_at = nullptr;
  uint32_t size = 0;  // rows in the last chunk
  uint32_t capacity = 0;
  uint32_t open = UINT32_MAX;  // the session whose values only need append()
  uint32_t skip = UINT32_MAX;  // the session whose values need nothing at all
  bool whole = false;          // every value is stored: finish() computes the segments' spans from the rows
  uint64_t before = 0;         // rows in earlier chunks
  std::vector<ScalarChunk> chunks;
  Segments segments;

  uint64_t rows() const { return before + size; }
  // A row of a finished series; without wall times, they are 0.
  ScalarRow row(uint64_t index) const {
    const ScalarChunk& from = chunks[index / Pool::kLargest];  // every chunk before the last is full
    index %= Pool::kLargest;
    return {from.steps()[index], from.has_wall_times() ? from.wall_times()[index] : 0.0,
            from.values()[index]};
  }
  void append(Pool& pool, int64_t step, double wall, double value) {
    if (size == capacity) grow(pool);
    step_at[size] = step;
    wall_at[size] = wall;
    value_at[size] = value;  // after the wall time: both may be the same column
    // Dozens of columns grow together, more than the CPU prefetches by itself.
    will_write(step_at, size + 16);
    will_write(wall_at, size + 16);
    will_write(value_at, size + 16);
    ++size;
  }
  // Sets the final row counts; nothing may be appended after this.
  void finish() {
    if (!chunks.empty()) chunks.back().rows = size;
    segments.finish(rows());
    if (whole) measure();
  }
  void release(Pool& pool);

 private:
  void grow(Pool& pool);
  void measure();
};

}  // namespace tbq
