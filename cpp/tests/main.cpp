// Runs every TEST; exits with 1 if one fails.
#include "tests/check.hpp"

int main() {
  int failed = 0;
  for (const Test& test : tests()) {
    const int before = failures();
    test.run();
    if (failures() != before) {
      std::printf("FAILED %s\n", test.name);
      ++failed;
    }
  }
  std::printf("%zu passed, %d failed\n", tests().size() - static_cast<size_t>(failed), failed);
  return failed == 0 ? 0 : 1;
}
