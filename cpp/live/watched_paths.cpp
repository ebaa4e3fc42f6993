#include "live/watched_paths.hpp"

#include <chrono>

namespace tbq {
namespace {

// Some file systems count time in steps of two seconds.
constexpr int64_t kCoarse = 2'000'000'000;

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void WatchedPaths::set(std::vector<std::string> paths) {
  looked_ = now();
  paths_ = std::move(paths);
  known_.clear();
  for (const std::string& path : paths_) known_.push_back(status_of(path));
}

bool WatchedPaths::changed() {
  const int64_t time = now();
  bool any = false;
  for (size_t i = 0; i < paths_.size(); ++i) {
    const FileStatus status = status_of(paths_[i]);
    // A directory that changed just before it was looked at may have changed again within the same tick.
    any = any || !(status == known_[i]) || (status.error == 0 && status.modified > looked_ - kCoarse);
    known_[i] = status;
  }
  looked_ = time;
  return any;
}

}  // namespace tbq
