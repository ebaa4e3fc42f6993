// Watches directories with known entries for changes.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "io/file_status.hpp"

namespace tbq {

// Several threads may use one object.
class WatchedPaths {
 public:
  // Sets the paths to check, after they were listed. The last changed() saw a path before that listing, so it
  // finds changes made in between; a new path counts as changed.
  void set(std::vector<std::string> paths);
  // Whether a path changed since the last call. Also true for a moment after a change, because changes within
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
