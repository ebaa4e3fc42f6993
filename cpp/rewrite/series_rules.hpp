// Decides which values of a run stay: the rules of each series, and what was seen of it so far.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "bytes/seeded_hash.hpp"
#include "rewrite/rewrite.hpp"

namespace tbq {

// Values that describe an entire run have no step: they are neither cut by steps nor thinned.
constexpr bool stepless(Kind kind) {
  return kind == Kind::hparams || kind == Kind::custom_scalars || kind == Kind::graphs || kind == Kind::logs;
}

// Picks at most `max_points` positions of a series: its first and last, and the smallest and largest value of
// each stretch.
class Picks {
 public:
  void count() { ++total_; }
  // Called once, after all values were counted.
  void prepare(uint64_t most, bool numbers);
  void offer(uint64_t place, double value);
  // Called once, after all values were offered.
  void finish();
  // Must be called with ascending positions.
  bool has(uint64_t place);

 private:
  struct Stretch {
    bool any = false;
    double least = 0;
    double largest = 0;
    uint64_t least_at = 0;
    uint64_t largest_at = 0;
  };
  uint64_t total_ = 0;
  bool all_ = false;
  std::vector<Stretch> stretches_;
  std::vector<uint64_t> places_;
  size_t next_ = 0;
};

struct SeriesState {
  const SeriesReport* report = nullptr;
  const SeriesRule* rule = nullptr;
  std::span<const SegmentReport> segments;
  size_t segment = 0;  // the first segment that is not before the current session
  uint64_t seen = 0;   // values left by restarts and steps
  Picks picks;

  int64_t limit(uint32_t session) {
    while (segment < segments.size() && segments[segment].session < session) ++segment;
    return segment < segments.size() && segments[segment].session == session ? segments[segment].limit
                                                                             : INT64_MAX;
  }
  void rewind() {
    segment = 0;
    seen = 0;
  }
};

// The series of one tag; there is usually one.
struct TagStates {
  std::vector<std::unique_ptr<SeriesState>> all;
  TagStates* next = nullptr;   // see TagPredictor
  bool metadata_lost = false;  // a value that carried the tag's metadata was dropped
  bool metadata_kept = false;

  SeriesState& of(Kind kind) const {
    for (const auto& state : all) {
      if (state->report->kind == kind) return *state;
    }
    return *all.front();
  }
  bool has(Kind kind) const { return of(kind).report->kind == kind; }
  // The report of its first series; the tag and its metadata are the same in all of them.
  const SeriesReport& report() const { return *all.front()->report; }
  std::string_view name() const { return report().tag; }
};

class RunStates {
 public:
  RunStates(const Result& survey, uint32_t run, const std::vector<SeriesRule>& rules);
  TagStates* find(std::string_view tag) {
    const auto found = tags_.find(tag);
    return found == tags_.end() ? nullptr : found->second.get();
  }
  void rewind();
  template <class Call>
  void each(Call&& call) {
    for (auto& [name, tag] : tags_) {
      for (auto& state : tag->all) call(*state);
    }
  }
  bool untouched() const { return untouched_; }

 private:
  NameViewMap<std::unique_ptr<TagStates>> tags_;
  bool untouched_ = true;  // no rule drops or renames anything
};

}  // namespace tbq
