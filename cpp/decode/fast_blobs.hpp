// The fast path for values that are not scalars. Events that repeat a tag's bytes except for wall time, step
// and payload are not walked, and histograms go straight into columns.
#pragma once

#include "decode/part.hpp"
#include "event/head.hpp"

namespace tbq {

class FastBlobs {
 public:
  FastBlobs(Part& part, Pool& pool) : part_(part), pool_(pool) {}

  // Remembers the bytes around the payload of an event with one value and nothing after it.
  static void learn(TagEntry& entry, const ValueRef& value, Bytes event, Kind kind, BlobSeries& series);

  // Whether the event matches; then sets `head` and the ranges of `value` for this event.
  static bool fits(const BlobTemplate& known, Bytes event, EventHead& head, ValueRef& value);

  // Puts the histogram of the record at `at`, whose row is the last so far, into columns; the first call for
  // a tag also moves its earlier histograms there. Returns false if the layout is unusual, or the tag has few
  // histograms so far. `left` is the number of bytes still to be read.
  bool store_histogram(uint64_t at, uint64_t left, Bytes payload, BlobSeries& series, BlobRow& row);

 private:
  void append(uint64_t at, uint64_t left, Bytes numbers, BlobSeries& series, BlobRow& row);
  uint64_t expected(uint64_t at, uint64_t left, uint64_t count, const BlobSeries& series) const;

  Part& part_;
  Pool& pool_;
  uint64_t idle_ = 0;  // bytes of columns that no row has filled yet
};

}  // namespace tbq
