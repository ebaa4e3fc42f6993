// Segments: the rows of a series that each session stored, and the span of all that it logged.
#pragma once

#include <cstdint>
#include <vector>

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
  void begin(uint32_t session, uint64_t stored);
  uint32_t session_ = UINT32_MAX;
  Segment* open_ = nullptr;
};

}  // namespace tbq
