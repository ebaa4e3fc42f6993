#include "live/crew.hpp"

#include <algorithm>

namespace tbq {

void Crew::run(size_t jobs, unsigned threads, const std::function<void(unsigned, size_t)>& job,
               const std::function<bool()>& tick) {
  const auto count = static_cast<unsigned>(std::min<size_t>(threads, jobs));
  std::vector<std::thread> crew;
  if (jobs > 0) {
    crew.reserve(count);
    for (unsigned i = 0; i < count; ++i) {
      try {
        const std::lock_guard lock(mutex_);
        crew.emplace_back([this, i, jobs, &job] { loop(i, jobs, job); });
        ++running_;
      } catch (const std::system_error&) {  // the system has no more threads: fewer do it too
        break;
      }
    }
    if (crew.empty()) {  // or none was asked for
      ++running_;
      loop(0, jobs, job);
    }
  }
  {
    std::unique_lock lock(mutex_);
    while (running_ > 0) {
      changed_.wait_for(lock, std::chrono::milliseconds(50));
      if (cancelled_ || running_ == 0 || !tick) continue;
      lock.unlock();
      try {
        if (!tick()) cancelled_ = true;
      } catch (...) {
        fail();
      }
      lock.lock();
    }
  }
  for (std::thread& thread : crew) thread.join();
  if (failure_) std::rethrow_exception(failure_);
}

void Crew::loop(unsigned worker, size_t jobs, const std::function<void(unsigned, size_t)>& job) {
  try {
    for (size_t i = next_++; i < jobs && !cancelled_; i = next_++) job(worker, i);
  } catch (...) {
    fail();
  }
  const std::lock_guard lock(mutex_);
  --running_;
  changed_.notify_all();
}

void Crew::fail() {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::current_exception();
  cancelled_ = true;
}

}  // namespace tbq
