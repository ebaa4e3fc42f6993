// Tests how SIGTERM and SIGHUP are caught, in child processes.
#include "io/termination.hpp"

#include "tests/check.hpp"

#ifndef _WIN32

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tbq;

namespace {

// The exit status of a child process that calls `act`.
template <class Act>
int end_of(Act&& act) {
  const pid_t child = fork();
  if (child == 0) {
    for (const int number : {SIGTERM, SIGHUP}) signal(number, SIG_DFL);  // nohup ignores SIGHUP
    act();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

struct Ends {
  int read = -1;
  int write = -1;
  Ends() {
    int both[2];
    if (pipe(both) != 0) return;
    read = both[0];
    write = both[1];
    fcntl(write, F_SETFL, O_NONBLOCK);
  }
};

void ignore(int) {}

}  // namespace

TEST(a_caught_signal_is_a_byte_in_the_pipe) {
  CHECK(end_of([] {
          const Ends ends;
          if (!catch_termination(ends.write)) _exit(1);
          raise(SIGTERM);
          raise(SIGHUP);
          unsigned char bytes[2] = {};
          if (read(ends.read, bytes, 2) != 2 || bytes[0] != SIGTERM || bytes[1] != SIGHUP) _exit(2);
          for (int i = 0; i < 100000; ++i) raise(SIGTERM);  // the pipe becomes full
          end_by_signal(SIGHUP);
        }) == -SIGHUP);
}

TEST(a_released_signal_ends_the_process) {
  CHECK(end_of([] {
          const Ends ends;
          catch_termination(ends.write);
          release_termination();
          raise(SIGTERM);
        }) == -SIGTERM);
}

TEST(a_forked_child_is_not_caught_until_it_asks) {
  CHECK(end_of([] {
          const Ends ends;
          catch_termination(ends.write);
          if (end_of([] { raise(SIGTERM); }) != -SIGTERM) _exit(1);
          if (end_of([] {
                const Ends own;
                catch_termination(own.write);
                raise(SIGTERM);
                unsigned char byte = 0;
                _exit(read(own.read, &byte, 1) == 1 ? 7 : 8);
              }) != 7)
            _exit(2);
          // None of these signals reached this process.
          fcntl(ends.read, F_SETFL, O_NONBLOCK);
          unsigned char byte = 0;
          if (read(ends.read, &byte, 1) == 1) _exit(3);
        }) == 0);
}

TEST(other_handlers_are_left_alone) {
  CHECK(end_of([] {
          const Ends ends;
          signal(SIGTERM, ignore);
          signal(SIGHUP, SIG_IGN);
          if (catch_termination(ends.write)) _exit(1);
          raise(SIGTERM);
          raise(SIGHUP);
          release_termination();
          raise(SIGTERM);
        }) == 0);
}

TEST(a_descriptor_of_another_file_is_not_written_to) {
  CHECK(end_of([] {
          const Ends ends;
          catch_termination(ends.write);
          const Ends other;
          dup2(other.write, ends.write);  // all files were closed, and the descriptor was reused
          raise(SIGTERM);
        }) == -SIGTERM);
}

#else

#define WIN32_LEAN_AND_MEAN
#include <fcntl.h>
#include <io.h>
#include <signal.h>
#include <windows.h>

#include <cstdlib>
#include <string>

using namespace tbq;

namespace {

constexpr const char* kRole = "TBQ_TERMINATION_TEST";
constexpr DWORD kEndedByConsole = 0xC000013A;

void ignore(int) {}

// In a child process: plays the role that its parent chose, and ends.
void play(const std::string& role) {
  int ends[2];
  if (_pipe(ends, 256, _O_BINARY) != 0 || !catch_termination(ends[1])) _exit(1);
  if (role == "released") release_termination();
  if (role == "handled") signal(SIGBREAK, ignore);
  if (!GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, GetCurrentProcessId())) _exit(2);
  if (role != "caught") {
    Sleep(2000);
    _exit(7);
  }
  unsigned char byte = 0;
  if (_read(ends[0], &byte, 1) != 1 || byte != CTRL_BREAK_EVENT) _exit(3);
  end_by_signal(byte);
  _exit(4);
}

const bool g_played = [] {
  if (const char* role = std::getenv(kRole)) play(role);
  return true;
}();

// The exit status of a child in a group of its own, so that its events reach nobody else.
DWORD end_of(const char* role) {
  wchar_t program[32768];
  GetModuleFileNameW(nullptr, program, 32768);
  SetEnvironmentVariableA(kRole, role);
  STARTUPINFOW start = {};
  start.cb = sizeof start;
  PROCESS_INFORMATION child;
  const BOOL started = CreateProcessW(program, nullptr, nullptr, nullptr, FALSE, CREATE_NEW_PROCESS_GROUP,
                                      nullptr, nullptr, &start, &child);
  SetEnvironmentVariableA(kRole, nullptr);
  if (!started) return 100;
  DWORD status = 101;
  if (WaitForSingleObject(child.hProcess, 20'000) == WAIT_OBJECT_0) {
    GetExitCodeProcess(child.hProcess, &status);
  }
  CloseHandle(child.hThread);
  CloseHandle(child.hProcess);
  return status;
}

}  // namespace

TEST(a_caught_event_is_a_byte_in_the_pipe) { CHECK(end_of("caught") == kEndedByConsole); }

TEST(a_released_event_ends_the_process) { CHECK(end_of("released") == kEndedByConsole); }

TEST(other_handlers_are_left_alone) { CHECK(end_of("handled") == 7); }

#endif
