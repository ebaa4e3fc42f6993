// What each bind_*.cpp adds to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace tbq {}  // namespace tbq
