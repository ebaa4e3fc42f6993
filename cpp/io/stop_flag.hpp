// A flag that asks running work to stop: inner loops read it, any thread may set it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <utility>

namespace tbq {

class StopFlag {
 public:
  bool is_set() const { return set_.load(std::memory_order_relaxed) || (poll_ && polled()); }
  void set() { set_.store(true, std::memory_order_relaxed); }

  // Makes is_set() call `poll` from time to time; `poll` may set the flag. For work on a thread that would
  // otherwise wait and poll: after this call, only that thread may call is_set().
  void poll_by(std::function<void()> poll, std::chrono::milliseconds interval = kInterval) {
    poll_ = std::move(poll);
    interval_ = interval;
  }

  static constexpr std::chrono::milliseconds kInterval{50};

 private:
  using Clock = std::chrono::steady_clock;

  bool polled() const {
    const auto now = Clock::now();
    if (now - last_ < interval_) return false;
    last_ = now;
    poll_();
    return set_.load(std::memory_order_relaxed);
  }

  std::atomic<bool> set_{false};
  std::function<void()> poll_;
  std::chrono::milliseconds interval_ = kInterval;
  mutable Clock::time_point last_ = Clock::now();
};

}  // namespace tbq
