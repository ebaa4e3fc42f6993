// The fast path for scalars: events that repeat a tag's bytes but for wall time, step and number go straight
// into its columns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "decode/part.hpp"
#include "decode/tag_predictor.hpp"
#include "record/framing.hpp"

namespace tbq {

// What a row of scalar records adds to its session, counted apart from memory that others look at.
struct Tally {
  StepSpan steps;
  TimeSpan times;
};

class FastScalars {
 public:
  FastScalars(TagTable& tags, Pool& pool, const PartOptions& options)
      : tags_(tags), pool_(pool), options_(options) {}

  // All that follows belongs to this session of the part.
  void enter(uint32_t session) { session_ = session; }

  // Stores the scalars of events that consist of a wall time, perhaps a step, and then the bytes of a tag's
  // template, as many as there are in a row; returns their number. Nothing has been stored of the event after
  // them.
  size_t store_matching(const Frame* frames, size_t count, Tally& total);

  // One scalar of `entry`, however it was found.
  void store(TagEntry& entry, int64_t step, double wall, double value);

  // Remembers the bytes of an event that holds one value and nothing after it, with the number at `slot`.
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
