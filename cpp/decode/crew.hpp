// The threads of the core: they do numbered jobs while the calling thread waits and may be interrupted.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>

#include "io/stop_flag.hpp"

namespace tbq {

class Crew {
 public:
  using Job = std::function<void(unsigned worker, size_t index)>;

  // Calls job(worker, index) for each index below `jobs`, on up to `threads` threads, or on this one if that
  // is 0 or the system has none. `tick` is called on this thread, now and then; false stops everything.
  // Returns false if it was stopped, and throws what a job or `tick` threw, after all threads have ended.
  // A Crew runs once.
  bool run(size_t jobs, unsigned threads, const Job& job, const std::function<bool()>& tick = {});
  // Jobs that take long ask it.
  const StopFlag& stop() const { return stop_; }

 private:
  void loop(unsigned worker, size_t jobs, const Job& job);
  void look(const std::function<bool()>& tick);
  void fail();

  std::atomic<size_t> next_{0};
  StopFlag stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned running_ = 0;
  std::exception_ptr failure_;
};

}  // namespace tbq
