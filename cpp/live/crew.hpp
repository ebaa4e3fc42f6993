// Threads that do numbered jobs, while the calling thread waits and may be interrupted.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace tbq {

class Crew {
 public:
  // Calls job(worker, index) for each index below `jobs`, on up to `threads` threads, or on this one if that
  // is 0; `tick`, now and then, on this one: false stops everything. Throws what a job threw.
  void run(size_t jobs, unsigned threads, const std::function<void(unsigned worker, size_t index)>& job,
           const std::function<bool()>& tick);
  const std::atomic<bool>& cancelled() const { return cancelled_; }

 private:
  void loop(unsigned worker, size_t jobs, const std::function<void(unsigned, size_t)>& job);
  void fail();

  std::atomic<size_t> next_{0};
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned running_ = 0;
  std::exception_ptr failure_;
};

}  // namespace tbq
