// The visible rows of a segment: those that the restart policy keeps, as stretches of rows.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "decode/part.hpp"

namespace tbq {

// Rows [begin, end) of a series in one part.
struct Stretch {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool operator==(const Stretch&) const = default;
};
using Stretches = std::vector<Stretch>;  // ascending, without overlap

// The rows of `from` that are not in `without`.
Stretches minus(const Stretches& from, const Stretches& without);

// The rows delivered so far, by segment; a segment that is not listed has delivered nothing.
using Delivered = std::unordered_map<const Segment*, Stretches>;

using SeriesNames = std::set<std::pair<Kind, std::string>>;

// For a join that delivers only the new rows of a run and retracts rows that are no longer visible. The join
// records what is visible; commit() makes that the delivered rows.
struct Delivery {
  Delivered& delivered;                          // the join adds an empty entry for each segment without one
  const std::unordered_set<const Part*>& fresh;  // parts with new rows
  NameSet stale;                                 // tags that had rows in parts that no longer exist
  bool all = false;                              // check every tag, not only these
  bool silent = false;                           // record what is visible, but deliver nothing
  const SeriesNames* hidden = nullptr;           // series without visible rows
  struct Retracted {
    std::string tag;
    Kind kind = Kind::scalars;
    int64_t step = 0;
    double wall_time = 0;
    double value = 0;  // for a scalar
  };
  std::vector<Retracted> retracted;
  std::vector<std::pair<Stretches*, Stretches>> visible;  // entries of `delivered`

  void commit() noexcept {
    for (auto& [entry, stretches] : visible) *entry = std::move(stretches);
    visible.clear();
  }
};

}  // namespace tbq
