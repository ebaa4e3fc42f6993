// Directories whose entries are known, until one of them changes.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "io/file_status.hpp"

namespace tbq {

// Several threads may use it.
class WatchedPaths {
 public:
  // The paths to look at from now on, after they were listed. What the last changed() saw of a path was seen
  // before that, so a change meanwhile is found; a path that is new counts as changed.
  void set(std::vector<std::string> paths);
  // Whether one of them changed since the last call; and for a moment after that, since what happens within
  // one tick of the file system's clock cannot be told apart.
  bool changed();

 private:
  using Clock = std::chrono::steady_clock;

  std::mutex mutex_;
  std::vector<std::string> paths_;
  std::vector<FileStatus> known_;
  std::vector<bool> seen_;
  Clock::time_point doubtful_until_;
  bool doubtful_ = false;
};

}  // namespace tbq
