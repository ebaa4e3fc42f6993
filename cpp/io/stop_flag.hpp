// A flag that asks running work to stop: inner loops read it, any thread may set it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <utility>

namespace tbq {

class StopFlag {
 public:
  bool is_set() const { return set_.load(std::memory_order_relaxed) || (check_ && checked()); }
  void set() { set_.store(true, std::memory_order_relaxed); }

  // Makes is_set() call `check` from time to time; `check` may set the flag. For work on a thread that would
  // otherwise wait and poll: after this call, only that thread may call is_set().
  void check_by(std::function<void()> check, std::chrono::milliseconds interval = kInterval) {
    check_ = std::move(check);
    interval_ = interval;
  }

  static constexpr std::chrono::milliseconds kInterval{50};

 private:
  using Clock = std::chrono::steady_clock;

  bool checked() const {
    const auto now = Clock::now();
    if (now - last_ < interval_) return false;
    last_ = now;
    check_();
    return set_.load(std::memory_order_relaxed);
  }

  std::atomic<bool> set_{false};
  std::function<void()> check_;
  std::chrono::milliseconds interval_ = kInterval;
  mutable Clock::time_point last_ = Clock::now();
};

}  // namespace tbq
