// What was wrong with values, noted while tables are made of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace tbq {

// A value that could not be decoded, or not all of it.
struct ValueProblem {
  const char* code = "";
  uint32_t run = 0;
  std::string tag;
  int64_t step = 0;
  uint32_t file = 0;
  uint64_t offset = 0;  // of its record
  std::string message;
};

// Problems found by streams, which may run on any thread.
class ValueProblems {
 public:
  void add(ValueProblem problem);
  // Those found since the last call, and how many more were only counted.
  std::vector<ValueProblem> drain(uint64_t& more);

 private:
  static constexpr size_t kMost = 1000;
  std::mutex mutex_;
  std::vector<ValueProblem> listed_;
  uint64_t more_ = 0;
};

}  // namespace tbq
