// Declares the function of each bind_*.cpp that adds its part to the module.
#pragma once

#include "bind/casters.hpp"

namespace tbq {

void bind_arrow(nanobind::module_& m);
void bind_compat(nanobind::module_& m);
void bind_curve(nanobind::module_& m);
void bind_decode(nanobind::module_& m);
void bind_kinds(nanobind::module_& m);
void bind_live(nanobind::module_& m);
void bind_rewrite(nanobind::module_& m);
void bind_termination(nanobind::module_& m);
void bind_text(nanobind::module_& m);
void bind_encode(nanobind::module_& m);
void bind_elements(nanobind::module_& m);
void bind_formats(nanobind::module_& m);

}  // namespace tbq
