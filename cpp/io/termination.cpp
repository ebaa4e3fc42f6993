// Catches SIGTERM and SIGHUP, or the console's events on Windows. The handler only writes a byte: few
// functions are allowed in a handler of signals.
#include "io/termination.hpp"

#ifndef _WIN32

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "io/system_call.hpp"

namespace tbq {
namespace {

constexpr int kSignals[] = {SIGTERM, SIGHUP};

// Written only before a handler is set, and once more in a forked child, which has one thread.
struct Pipe {
  volatile int fd = -1;
  pid_t process = 0;
  dev_t device = 0;
  ino_t inode = 0;
} g_pipe;

// Whether the descriptor is still our pipe: daemons close all files, and descriptors are reused.
bool is_ours(int fd) {
  struct stat status;
  return retried([&] { return fstat(fd, &status); }) == 0 && status.st_dev == g_pipe.device &&
         status.st_ino == g_pipe.inode;
}

void set_default(int number) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

extern "C" void tbq_on_termination(int number) {
  const int before = errno;
  const auto byte = static_cast<unsigned char>(number);
  const int fd = g_pipe.fd;
  bool written = false;
  if (getpid() == g_pipe.process && is_ours(fd)) {
    // If the pipe is full, a wake-up is already pending.
    written = retried([&] { return write(fd, &byte, 1); }) == 1 || errno == EAGAIN;
  }
  if (!written) {
    set_default(number);
    raise(number);  // delivered when this handler returns
  }
  errno = before;
}

bool is_our_handler(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == tbq_on_termination;
}

bool is_default(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

}  // namespace

bool catch_termination(int fd) {
  // For process 1, the kernel discards signals without a handler: nothing would end the process.
  if (getpid() == 1) return false;
  struct stat status;
  if (retried([&] { return fstat(fd, &status); }) != 0) return false;
  if (g_pipe.fd != fd || g_pipe.process != getpid() || !is_ours(fd)) {
    release_termination();
    g_pipe.fd = fd;
    g_pipe.process = getpid();
    g_pipe.device = status.st_dev;
    g_pipe.inode = status.st_ino;
  }
  bool caught = false;
  for (const int number : kSignals) {
    struct sigaction action;
    if (sigaction(number, nullptr, &action) != 0) continue;
    if (is_default(action)) {
      action = {};
      action.sa_handler = tbq_on_termination;
      action.sa_flags = SA_RESTART;
      sigemptyset(&action.sa_mask);
      caught = sigaction(number, &action, nullptr) == 0 || caught;
    } else {
      caught = caught || is_our_handler(action);
    }
  }
  return caught;
}

void release_termination() {
  for (const int number : kSignals) {
    struct sigaction action;
    if (sigaction(number, nullptr, &action) == 0 && is_our_handler(action)) set_default(number);
  }
}

void end_by_signal(int number) {
  set_default(number);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  kill(getpid(), number);
}

}  // namespace tbq

#else

#define WIN32_LEAN_AND_MEAN
#include <io.h>
#include <signal.h>
#include <windows.h>

#include <atomic>

namespace tbq {
namespace {

std::atomic<int> g_pipe{-1};

bool is_handled() {
  const auto action = signal(SIGBREAK, SIG_GET);  // for the C runtime, all these events are this signal
  return action != SIG_DFL && action != SIG_GET;
}

// Windows calls this in a new thread. Other handlers follow if it returns FALSE; the last one ends the
// process.
BOOL WINAPI on_console_event(DWORD event) {
  const bool ends = event == CTRL_BREAK_EVENT || event == CTRL_CLOSE_EVENT || event == CTRL_SHUTDOWN_EVENT;
  if (!ends || is_handled()) return FALSE;
  const auto byte = static_cast<unsigned char>(event);
  const int fd = g_pipe;
  if (fd < 0 || _write(fd, &byte, 1) != 1) return FALSE;
  Sleep(INFINITE);  // the reader of the pipe ends the process, or Windows does after some seconds
  return TRUE;
}

}  // namespace

bool catch_termination(int fd) {
  return g_pipe.exchange(fd) >= 0 || SetConsoleCtrlHandler(on_console_event, TRUE) != 0;
}

void release_termination() {
  if (g_pipe.exchange(-1) >= 0) SetConsoleCtrlHandler(on_console_event, FALSE);
}

void end_by_signal(int /*number*/) {
  constexpr UINT kEndedByConsole = 0xC000013A;  // STATUS_CONTROL_C_EXIT, as without a handler
  TerminateProcess(GetCurrentProcess(), kEndedByConsole);
}

}  // namespace tbq

#endif
