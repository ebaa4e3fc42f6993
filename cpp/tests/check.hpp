// A minimal test framework: a test is TEST(name) { CHECK(...); }; main.cpp runs all tests and prints one
// closing line.
#pragma once

#include <cstdio>
#include <vector>

struct Test {
  const char* name;
  void (*run)();
};
inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}
inline int& failures() {
  static int count = 0;
  return count;
}

#define TEST(name)                                                            \
  static void name();                                                         \
  static const bool name##_added = (tests().push_back({#name, &name}), true); \
  static void name()
#define CHECK(condition)                                                  \
  do {                                                                    \
    if (!(condition)) {                                                   \
      std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      ++failures();                                                       \
    }                                                                     \
  } while (0)
