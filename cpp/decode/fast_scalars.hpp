// The fast path for scalars: events that repeat a tag's bytes except for wall time, step and number go
// straight into its columns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "decode/part.hpp"
#include "event/tag_predictor.hpp"
#include "record/framing.hpp"

namespace tbq {

// What consecutive scalar records add to their session, counted in memory that no other thread reads.
struct Tally {
  StepSpan steps;
  TimeSpan times;
};

class FastScalars {
 public:
  FastScalars(TagTable& tags, Pool& pool, const PartOptions& options)
      : tags_(tags), pool_(pool), options_(options) {}

  // Everything that follows belongs to this session of the part.
  void enter(uint32_t session) { session_ = session; }

  // Stores the scalars of consecutive events that consist of a wall time, perhaps a step, and the bytes of a
  // tag's template. Returns their number. Nothing of the next event has been stored.
  size_t store_matching(const Frame* frames, size_t count, Tally& total);

  // Stores one scalar of `entry`, found by any path.
  void store(TagEntry& entry, int64_t step, double wall, double value);

  // Remembers the bytes of an event with one value and nothing after it, with the number at `slot`.
  static void learn(TagEntry& entry, Bytes event, size_t slot, uint32_t width);

  TagPredictor<TagEntry>& predictor() { return predictor_; }

 private:
  TagEntry* look_up(Bytes summary) const;

  TagTable& tags_;
  Pool& pool_;
  const PartOptions& options_;
  const bool store_ = (options_.kinds & bit(Kind::scalars)) != 0;
  const bool store_all_ = store_ && options_.first_step == INT64_MIN && options_.last_step == INT64_MAX;
  uint32_t session_ = 0;
  TagPredictor<TagEntry> predictor_;
};

}  // namespace tbq
