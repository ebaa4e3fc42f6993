// Starts the threads, hands out job numbers, and ends all threads before run() returns.
#include "decode/crew.hpp"

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace tbq {

bool Crew::run(size_t jobs, unsigned threads, const Job& job, const std::function<bool()>& tick) {
  const auto count = static_cast<unsigned>(std::min<size_t>(threads, jobs));
  std::vector<std::thread> crew;
  crew.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    try {
      const std::lock_guard lock(mutex_);
      crew.emplace_back([this, i, jobs, &job] { loop(i, jobs, job); });
      ++running_;
    } catch (const std::system_error&) {  // the system has no more threads: continue with fewer
      break;
    } catch (...) {  // the started threads must end first
      fail();
      break;
    }
  }
  if (crew.empty() && jobs > 0) {
    if (tick) stop_.poll_by([&] { poll(tick); });
    ++running_;
    loop(0, jobs, job);
  }
  {
    std::unique_lock lock(mutex_);
    while (running_ > 0) {
      changed_.wait_for(lock, StopFlag::kInterval);
      if (running_ == 0 || !tick || stop_.is_set()) continue;
      lock.unlock();
      poll(tick);
      lock.lock();
    }
  }
  for (std::thread& thread : crew) thread.join();
  stop_.poll_by({});
  if (failure_) std::rethrow_exception(failure_);
  return !stop_.is_set();
}

void Crew::loop(unsigned worker, size_t jobs, const Job& job) {
  try {
    for (size_t i = next_++; i < jobs && !stop_.is_set(); i = next_++) job(worker, i);
  } catch (...) {
    fail();
  }
  const std::lock_guard lock(mutex_);
  --running_;
  changed_.notify_all();
}

void Crew::poll(const std::function<bool()>& tick) {
  try {
    if (!tick()) stop_.set();
  } catch (...) {
    fail();
  }
}

void Crew::fail() {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::current_exception();
  stop_.set();
}

}  // namespace tbq
