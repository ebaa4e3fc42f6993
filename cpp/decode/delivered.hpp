// Which rows of a segment are visible: what the restart policy keeps of it, as stretches of rows.
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
using Stretches = std::vector<Stretch>;  // ascending, apart from each other

// The rows of `from` that are not in `without`.
Stretches minus(const Stretches& from, const Stretches& without);

// What has been delivered so far, by segment; a segment that is not listed has delivered nothing.
using Delivered = std::unordered_map<const Segment*, Stretches>;

using SeriesNames = std::set<std::pair<Kind, std::string>>;

// For a join that gives only what is new of a run, and what is not visible any more. The join notes what is
// visible; it counts as delivered once commit() was called.
struct Delivery {
  Delivered& delivered;                          // gets an entry without rows for each segment that has none
  const std::unordered_set<const Part*>& fresh;  // parts with rows that are new
  NameSet stale;                                 // tags that had rows in parts that are gone
  bool all = false;                              // look at every tag, not only at these
  bool silent = false;                           // note what is visible, give nothing
  const SeriesNames* hidden = nullptr;           // of these no row is visible
  struct Retracted {
    std::string tag;
    Kind kind = Kind::scalars;
    int64_t step = 0;
    double wall_time = 0;
    double value = 0;  // of a scalar
  };
  std::vector<Retracted> retracted;
  std::vector<std::pair<Stretches*, Stretches>> visible;  // of entries of `delivered`

  void commit() noexcept {
    for (auto& [entry, stretches] : visible) *entry = std::move(stretches);
    visible.clear();
  }
};

}  // namespace tbq
