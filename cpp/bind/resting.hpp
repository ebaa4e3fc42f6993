// Calls into Python that may wait for its global lock. If Python ends this thread inside, the thread sleeps
// instead.
#pragma once

#include <Python.h>

namespace tbq {

// Sleeps until the process ends, which is about to happen.
[[noreturn]] void rest() noexcept;

void restore_thread(PyThreadState* state) noexcept;
PyGILState_STATE ensure_state() noexcept;
int check_signals() noexcept;
// A new reference, or nullptr if the function raised an exception.
PyObject* call_function(PyObject* function, PyObject* arguments) noexcept;

}  // namespace tbq
