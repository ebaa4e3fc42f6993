// Appends the marks with plain system calls: Python has ended by then.
#include "write/exit_marks.hpp"

#include <bit>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "io/system_call.hpp"
#include "record/framing.hpp"

#ifndef _WIN32
#include <fcntl.h>
#include <unistd.h>
#endif

namespace tbq {

#ifdef __GLIBC__

namespace {

struct ExitMarks {
  std::mutex mutex;
  std::vector<ExitMark> all;
  pid_t process = 0;
};

// Never destroyed: destructors of globals may run before the marks are written.
ExitMarks& marks() {
  static auto* const kept = new ExitMarks;
  return *kept;
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void append(const ExitMark& mark, bool failed) {
  const std::string& fields = failed ? mark.failed : mark.finished;
  if (fields.empty()) return;
  constexpr char kWallTime = 1 << 3 | 1;  // field 1, 64 bits
  std::string event(1, kWallTime);
  auto time = std::bit_cast<uint64_t>(mark.wall_time == 0 ? now() : mark.wall_time);
  for (int i = 0; i < 8; ++i, time >>= 8) event += static_cast<char>(time & 0xff);
  event += fields;
  std::string record;
  append_record(record, {reinterpret_cast<const uint8_t*>(event.data()), event.size()});
  const int file = retried([&] { return ::open(mark.path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC); });
  if (file < 0) return;
  const off_t size = ::lseek(file, 0, SEEK_END);
  const ssize_t written = retried([&] { return ::write(file, record.data(), record.size()); });
  if (written >= 0 && static_cast<size_t>(written) < record.size() && ::ftruncate(file, size) != 0) {
    // The partial record cannot be removed either: readers see a torn record.
  }
  ::close(file);
}

void at_exit(int status, void* /*unused*/) { write_exit_marks(status); }

}  // namespace

bool can_mark_at_exit() { return true; }

void mark_at_exit(ExitMark mark) {
  ExitMarks& kept = marks();
  const std::lock_guard lock(kept.mutex);
  if (kept.process != ::getpid()) {
    kept.all.clear();
    if (kept.process == 0) ::on_exit(at_exit, nullptr);  // forked children inherit the handler
    kept.process = ::getpid();
  }
  kept.all.push_back(std::move(mark));
}

void write_exit_marks(int status) {
  ExitMarks& kept = marks();
  std::vector<ExitMark> all;
  {
    const std::lock_guard lock(kept.mutex);
    all.swap(kept.all);
    if (kept.process != ::getpid()) return;
  }
  for (const ExitMark& mark : all) append(mark, status != 0);
}

#else

bool can_mark_at_exit() { return false; }
void mark_at_exit(ExitMark /*unused*/) {}
void write_exit_marks(int /*unused*/) {}

#endif

}  // namespace tbq
