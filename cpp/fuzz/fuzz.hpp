// What a fuzz target and its driver share: the entry point that libFuzzer would call, seeds, and bytes to
// make them of.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/bytes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

// Inputs to start from; a target adds to them before main() runs.
inline std::vector<std::string>& seeds() {
  static std::vector<std::string> all;
  return all;
}

// A property that must hold, whatever the input.
#define REQUIRE(condition)                                                         \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                \
    }                                                                              \
  } while (0)
