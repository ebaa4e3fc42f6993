// The threads of the core: they run numbered jobs while the calling thread waits and can be interrupted.
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

  // Calls job(worker, index) for each index below `jobs`, on up to `threads` threads, or on this thread if
  // `threads` is 0 or no thread can be started. Calls `tick` on this thread from time to time; if `tick`
  // returns false, everything stops. Returns false if it was stopped. Throws what a job or `tick` threw,
  // after all threads have ended. A Crew runs once.
  bool run(size_t jobs, unsigned threads, const Job& job, const std::function<bool()>& tick = {});
  // Long jobs check this flag.
  const StopFlag& stop() const { return stop_; }

 private:
  void loop(unsigned worker, size_t jobs, const Job& job);
  void poll(const std::function<bool()>& tick);
  void fail();

  std::atomic<size_t> next_{0};
  StopFlag stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned running_ = 0;
  std::exception_ptr failure_;
};

}  // namespace tbq
