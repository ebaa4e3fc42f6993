// Binds catch_termination(fd) and its companions to Python.

#include "bind/bind.hpp"
#include "bind/gil.hpp"
#include "io/termination.hpp"

namespace nb = nanobind;

namespace tbq {

void bind_termination(nb::module_& m) {
  m.def("catch_termination", &catch_termination, nb::arg("fd"),
        "Let SIGTERM and SIGHUP write their number to this pipe, unless other handlers are set.");
  m.def("release_termination", &release_termination, "Let SIGTERM and SIGHUP end the process again.");
  m.def("end_by_signal", &end_by_signal, nb::arg("number"), nb::call_guard<Unlocked>(),
        "End this process by a signal.");
}

}  // namespace tbq
