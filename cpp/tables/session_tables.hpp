// What is known of each session, and of each series in it: for the doctor and for rewriting, on request.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "event/span.hpp"
#include "tables/arrow.hpp"

namespace tbq {

struct Result;

// A session of a run; those of a run lie together, in their order.
struct SessionReport {
  uint32_t run = 0;
  uint32_t file = 0;
  uint64_t offset = 0;  // of its first record
  double begin = 0;
  double end = 0;
  bool timed = false;
  bool has_start = false;
  int64_t start_step = 0;
  uint64_t records = 0;
  uint64_t values = 0;
  int64_t first_step = 0;
  int64_t last_step = 0;
  int64_t max_step = 0;
};

// The part of a series that one session logged; those of a series lie together, in the order of sessions.
struct SegmentReport {
  uint32_t series = 0;
  uint32_t session = 0;
  Span seen;
  int64_t limit = INT64_MAX;  // restarts="resume" drops steps from here on
};

void export_files(const Result& result, ArrowArrayStream* out);
void export_sessions(const Result& result, ArrowArrayStream* out);
void export_segments(const Result& result, ArrowArrayStream* out);

}  // namespace tbq
