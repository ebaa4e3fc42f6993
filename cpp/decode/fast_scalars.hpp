// The short way for scalars: events that repeat a tag's bytes but for wall time, step and number go straight
// into its columns.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "decode/part.hpp"
#include "record/framing.hpp"

namespace tbq {

// Whether a wall_time is one: absent it is 0, and nothing happened at the end of time.
inline bool is_time(double wall) { return wall != 0 && std::isfinite(wall); }

// What a row of scalar records adds to its session, counted apart from memory that others look at.
struct Tally {
  uint64_t records = 0;
  double earliest = HUGE_VAL;
  double latest = -HUGE_VAL;
  int64_t first_step = 0;
  int64_t last_step = 0;
  int64_t max_step = 0;
};

class ScalarPath {
 public:
  ScalarPath(TagTable& tags, Pool& pool, const PartOptions& options)
      : tags_(tags), pool_(pool), options_(options) {}

  // All that follows belongs to this session of the part.
  void enter(uint32_t session) { session_ = session; }

  // Takes events of a wall time, perhaps a step, and then the bytes of a tag's template, as many as there are
  // in a row; returns their number. Nothing has been taken from the one behind them.
  size_t take(const Frame* frames, size_t count, Tally& total);

  // One value of `series`, which is one of the two of `entry`.
  void keep(TagEntry& entry, ScalarSeries& series, int64_t step, double wall, double value);

  // Remembers the bytes of an event that holds one value and nothing behind it, with the number at `slot`.
  static void learn(TagEntry& entry, Bytes event, size_t slot, uint32_t width);

  // Writers log the same tags in the same order: what followed this tag the last time is the guess for the
  // next.
  void follow(TagEntry* entry) {
    if (previous_ && previous_->next != entry) previous_->next = entry;
    previous_ = entry;
    guess_ = entry->next;
  }
  TagEntry* guess() const { return guess_; }

 private:
  TagEntry* look_up(const uint8_t* p, size_t size) const;

  TagTable& tags_;
  Pool& pool_;
  const PartOptions& options_;
  const bool store_ = (options_.kinds & bit(Kind::scalars)) != 0;
  const bool store_all_ = store_ && options_.first_step == INT64_MIN && options_.last_step == INT64_MAX;
  uint32_t session_ = 0;
  TagEntry* guess_ = nullptr;
  TagEntry* previous_ = nullptr;
};

}  // namespace tbq
