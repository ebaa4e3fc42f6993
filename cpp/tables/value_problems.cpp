// Keeps a bounded list of problems and counts the rest.
#include "tables/value_problems.hpp"

#include <utility>

namespace tbq {

void ValueProblems::add(ValueProblem problem) {
  const std::lock_guard lock(mutex_);
  if (listed_.size() == kMost) {
    ++more_;
  } else {
    listed_.push_back(std::move(problem));
  }
}

std::vector<ValueProblem> ValueProblems::drain(uint64_t& more) {
  const std::lock_guard lock(mutex_);
  more = std::exchange(more_, 0);
  return std::exchange(listed_, {});
}

}  // namespace tbq
