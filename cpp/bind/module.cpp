// The Python module tbq._core: one bind_*.cpp per part of the core, all registered here.

#include "bind/bind.hpp"
#include "bind/gil.hpp"
#include "bytes/crc32c.hpp"
#include "io/slab.hpp"

namespace nb = nanobind;

NB_MODULE(_core, m) {
  m.doc() = "The native core of tbq; use the functions of tbq instead.";
  m.def(
      "crc32c",
      [](nb::bytes data, uint32_t crc) {
        return tbq::crc32c(crc, static_cast<const uint8_t*>(data.data()), data.size());
      },
      nb::arg("data"), nb::arg("crc") = 0, "CRC32C of data, unmasked.");
  m.def("crc32c_implementation", &tbq::crc32c_implementation,
        "The implementation of CRC32C on this machine.");
  m.def(
      "release_memory",
      [] {
        const tbq::Unlocked free;
        return tbq::release_memory();
      },
      "Return the memory that tbq keeps for the next decode (at most 128 MB); returns its size in bytes.");
  tbq::bind_arrow(m);
  tbq::bind_compat(m);
  tbq::bind_curve(m);
  tbq::bind_decode(m);
  tbq::bind_kinds(m);
  tbq::bind_live(m);
  tbq::bind_rewrite(m);
  tbq::bind_termination(m);
  tbq::bind_text(m);
  tbq::bind_encode(m);
  tbq::bind_elements(m);
  tbq::bind_formats(m);
}
