// The Python module tbq._core: one bind_*.cpp a part of the core, all registered here.
#include <nanobind/nanobind.h>

#include "bind/bind.hpp"
#include "bytes/crc32c.hpp"

namespace nb = nanobind;

NB_MODULE(_core, m) {
  m.doc() = "The native core of tbq; use the functions of tbq instead.";
  m.def(
      "crc32c",
      [](nb::bytes data, uint32_t crc) {
        return tbq::crc32c(crc, static_cast<const uint8_t*>(data.data()), data.size());
      },
      nb::arg("data"), nb::arg("crc") = 0, "CRC32C of data, unmasked.");
  m.def("crc32c_implementation", &tbq::crc32c_implementation, "What computes CRC32C on this machine.");
  tbq::bind_curve(m);
  tbq::bind_decode(m);
  tbq::bind_kinds(m);
  tbq::bind_live(m);
  tbq::bind_rewrite(m);
  tbq::bind_termination(m);
  tbq::bind_text(m);
  tbq::bind_encode(m);
  tbq::bind_elements(m);
}
