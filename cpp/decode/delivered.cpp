// Subtracts stretches of rows from each other.
#include "decode/delivered.hpp"

#include <algorithm>

namespace tbq {

Stretches minus(const Stretches& from, const Stretches& without) {
  Stretches left;
  size_t next = 0;
  for (const Stretch& stretch : from) {
    uint64_t begin = stretch.begin;
    while (next < without.size() && without[next].end <= begin) ++next;
    for (size_t i = next; i < without.size() && without[i].begin < stretch.end; ++i) {
      if (without[i].begin > begin) left.push_back({begin, without[i].begin});
      begin = std::max(begin, without[i].end);
    }
    if (begin < stretch.end) left.push_back({begin, stretch.end});
  }
  return left;
}

}  // namespace tbq
