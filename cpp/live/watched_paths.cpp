// Compares the status of watched paths with the last one seen.
#include "live/watched_paths.hpp"

#include <algorithm>

#include "bytes/seeded_hash.hpp"

namespace tbq {
namespace {

// How far apart two changes with the same time can be. Some file systems count in steps of two seconds.
std::chrono::nanoseconds tick(const FileStatus& status) {
  using namespace std::chrono_literals;
  return status.error == 0 && status.modified % 1'000'000'000 == 0 ? 2s : 50ms;
}

}  // namespace

void WatchedPaths::set(std::vector<std::string> paths) {
  const std::lock_guard lock(mutex_);
  NameMap<size_t> places;
  for (size_t i = 0; i < paths_.size(); ++i) places.emplace(paths_[i], i);
  std::vector<FileStatus> known(paths.size());
  std::vector<bool> seen(paths.size(), false);
  for (size_t i = 0; i < paths.size(); ++i) {
    const auto found = places.find(paths[i]);
    if (found == places.end()) continue;
    known[i] = known_[found->second];
    seen[i] = seen_[found->second];
  }
  paths_ = std::move(paths);
  known_ = std::move(known);
  seen_ = std::move(seen);
}

bool WatchedPaths::changed() {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  bool any = false;
  for (size_t i = 0; i < paths_.size(); ++i) {
    const FileStatus status = status_of(paths_[i]);
    if (seen_[i] && status == known_[i]) continue;
    any = true;
    doubtful_until_ = std::max(doubtful_until_, now + tick(status));
    known_[i] = status;
    seen_[i] = true;
  }
  if (any) return doubtful_ = true;
  if (!doubtful_) return false;
  doubtful_ = now < doubtful_until_;
  return true;
}

}  // namespace tbq
