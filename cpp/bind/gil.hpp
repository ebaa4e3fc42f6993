// Python's global lock, let go while the core works and taken for calls of Python.
//
// A thread that asks for the lock while Python ends never gets it. Python 3.14 lets it rest; before, it is
// ended by pthread_exit, for which glibc unwinds its frames. The first destructor on the way (the guard's
// own, to begin with) may not be left that way, so the whole process would abort: "terminate called without
// an active exception". So here such a thread rests, too. Nothing else in cpp/bind takes or lets go of the
// lock.
#pragma once

#include <nanobind/nanobind.h>

#if defined(__GLIBC__) && defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

#include <chrono>
#include <thread>
#include <utility>

namespace tbq {

// Until the process ends, which it is about to do.
[[noreturn]] inline void rest() noexcept {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// Does what may end this thread, in the way above; then it rests instead.
template <class Work>
decltype(auto) resting_at_the_end(Work&& work) {
#if defined(__GLIBC__) && defined(__GLIBCXX__)
  try {
    return std::forward<Work>(work)();
  } catch (abi::__forced_unwind&) {
    rest();
  }
#else
  return std::forward<Work>(work)();
#endif
}

// While it lives, this thread does without the lock.
class Unlocked {
 public:
  Unlocked() noexcept : state_(PyEval_SaveThread()) {}
  ~Unlocked() {
    resting_at_the_end([this] { PyEval_RestoreThread(state_); });
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

// What `work`, which calls Python, returns: with the lock, on any thread. What it needs is made outside:
// where a call of Python does not come back, nothing that it made may be taken apart without the lock.
template <class Work>
decltype(auto) in_python(Work&& work) {
  class Locked {
   public:
    Locked() noexcept : state_(resting_at_the_end(take)) {}
    ~Locked() { PyGILState_Release(state_); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

   private:
    // Python does not ask by itself whether it has ended already. Its own last thread is known to the end.
    // What is left: a thread that was never in Python and comes in the very moment in which Python begins to
    // end.
    static PyGILState_STATE take() {
      if (!Py_IsInitialized() && PyGILState_GetThisThreadState() == nullptr) rest();
      return PyGILState_Ensure();
    }

    PyGILState_STATE state_;
  };
  const Locked held;
  return std::forward<Work>(work)();
}

// Whether Python ends: then only this thread may still call it, so work that calls Python starts no others,
// which would rest while this one waits for them. With the lock.
inline bool is_ending() {
  PyObject* const ask = PySys_GetObject("is_finalizing");
  if (ask == nullptr || ask == Py_None) return true;  // sys itself has been taken apart
  return nanobind::cast<bool>(nanobind::borrow(ask)());
}

// Whether somebody pressed Ctrl-C; inside `in_python`.
inline void look_for_signals() {
  if (resting_at_the_end([] { return PyErr_CheckSignals(); }) != 0) throw nanobind::python_error();
}

// Calls a function of Python, inside `in_python`.
template <class... Given>
nanobind::object call(const nanobind::object& function, const Given&... given) {
  return resting_at_the_end([&] { return function(given...); });
}

}  // namespace tbq
