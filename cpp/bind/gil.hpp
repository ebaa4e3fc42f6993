// Releases Python's global lock while the core works, and takes it for calls into Python.
//
// A thread that asks for the lock while Python shuts down never gets it. Python 3.14 lets the thread hang.
// Older versions end it by pthread_exit; then such a thread sleeps here, too (bind/resting.cpp says why).
// Nothing else in cpp/bind takes or releases the lock.
#pragma once

#include <mutex>
#include <utility>

#include "bind/casters.hpp"
#include "bind/resting.hpp"

namespace tbq {

// While this object lives, its thread does not hold the lock.
class Unlocked {
 public:
  Unlocked() noexcept : state_(PyEval_SaveThread()) {}
  ~Unlocked() { restore_thread(state_); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

// Releases the lock like Unlocked, and holds `mutex`. Another thread may hold the mutex and need Python's
// lock, so this thread gives that lock up before it waits.
class Turn {
 public:
  explicit Turn(std::mutex& mutex) : turn_(mutex) {}

 private:
  Unlocked free_;
  std::lock_guard<std::mutex> turn_;
};

// Calls `work`, which calls Python, with the lock, on any thread, and returns its result. What `work`
// needs must be created outside of it: if a call into Python does not return, nothing may be destroyed
// without the lock.
template <class Work>
decltype(auto) in_python(Work&& work) {
  class Locked {
   public:
    Locked() noexcept : state_(take()) {}
    ~Locked() { PyGILState_Release(state_); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

   private:
    // PyGILState_Ensure does not check whether Python has already ended. Python's own last thread keeps its
    // state to the end. One gap remains: a thread that was never in Python and arrives at the very moment
    // when Python begins to end.
    static PyGILState_STATE take() {
      if (!Py_IsInitialized() && PyGILState_GetThisThreadState() == nullptr) rest();
      return ensure_state();
    }

    PyGILState_STATE state_;
  };
  const Locked held;
  return std::forward<Work>(work)();
}

// Whether Python is shutting down. Then only this thread may still call Python, so work that calls Python
// must not start other threads: they would hang while this thread waits for them. Needs the lock.
inline bool is_ending() {
  PyObject* const ask = PySys_GetObject("is_finalizing");
  if (ask == nullptr || ask == Py_None) return true;  // sys itself is already destroyed
  return nanobind::cast<bool>(nanobind::borrow(ask)());
}

// Raises the exception of a pending signal, such as Ctrl-C; inside `in_python`.
inline void look_for_signals() {
  if (check_signals() != 0) throw nanobind::python_error();
}

// Calls a Python function, inside `in_python`.
template <class... Arguments>
nanobind::object call(const nanobind::object& function, const Arguments&... arguments) {
  const nanobind::object given = nanobind::make_tuple(arguments...);
  PyObject* const result = call_function(function.ptr(), given.ptr());
  if (result == nullptr) throw nanobind::python_error();
  return nanobind::steal(result);
}

}  // namespace tbq
