// Python before 3.14 ends a thread by pthread_exit. glibc would then unwind its frames with libgcc's
// unwinder, which aborts at the first guard that must not be left, and crashes in frames of a module that has
// an unwinder of its own, as wheels built by zig have. But glibc first asks for handlers in the way of C, so
// these functions set one. That works only in code without exceptions: CMakeLists.txt compiles this file so.
#include "bind/resting.hpp"

#ifdef _WIN32
#include <windows.h>
#else
#include <pthread.h>
#include <unistd.h>
#endif

namespace tbq {

#ifdef _WIN32

// Windows ends threads without unwinding them.
#define TBQ_RESTING(call) call

void rest() noexcept {
  for (;;) Sleep(INFINITE);
}

#else

void rest() noexcept {
  for (;;) sleep(3600);
}

namespace {

void rest_instead(void* /*unused*/) { rest(); }

}  // namespace

#define TBQ_RESTING(call)                      \
  pthread_cleanup_push(rest_instead, nullptr); \
  call;                                        \
  pthread_cleanup_pop(0)

#endif

void restore_thread(PyThreadState* state) noexcept { TBQ_RESTING(PyEval_RestoreThread(state)); }

PyGILState_STATE ensure_state() noexcept {
  volatile PyGILState_STATE state;  // written between a setjmp and its possible return
  TBQ_RESTING(state = PyGILState_Ensure());
  return state;
}

int check_signals() noexcept {
  volatile int failed = 0;
  TBQ_RESTING(failed = PyErr_CheckSignals());
  return failed;
}

PyObject* call_function(PyObject* function, PyObject* arguments) noexcept {
  PyObject* volatile result = nullptr;
  TBQ_RESTING(result = PyObject_CallObject(function, arguments));
  return result;
}

}  // namespace tbq
