// Collects problems with values while tables are made from them: a bounded list, and the number of the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tbq {

// A value that could not be decoded, or only in part.
struct ValueProblem {
  const char* code = "";
  uint32_t run = 0;
  std::string tag;
  int64_t step = 0;
  uint32_t file = 0;
  uint64_t offset = 0;  // the offset of its record
  std::string message;
};

// The problems of all streams; streams may run on any thread.
class ValueProblems {
 public:
  void add(ValueProblem problem) {
    const std::lock_guard lock(mutex_);
    if (listed_.size() == kMost) {
      ++more_;
    } else {
      listed_.push_back(std::move(problem));
    }
  }
  // The problems since the last call; `more` is the number that was only counted.
  std::vector<ValueProblem> drain(uint64_t& more) {
    const std::lock_guard lock(mutex_);
    more = std::exchange(more_, 0);
    return std::exchange(listed_, {});
  }

 private:
  static constexpr size_t kMost = 1000;
  std::mutex mutex_;
  std::vector<ValueProblem> listed_;
  uint64_t more_ = 0;
};

}  // namespace tbq
