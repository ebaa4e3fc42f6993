// Shared by a fuzz target and its driver: the entry point, which libFuzzer calls too, the seeds, and bytes to
// build them from.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/bytes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

// The inputs to start from; a target adds to them before main() runs.
inline std::vector<std::string>& seeds() {
  static std::vector<std::string> all;
  return all;
}

// A property that must hold for any input.
#define REQUIRE(condition)                                                         \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                \
    }                                                                              \
  } while (0)

// Reads an input from its front: numbers that select an operation, then the bytes to apply it to. Past the
// end, everything is 0.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  uint8_t byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  template <class T>
  T number() {
    T value{};
    const size_t got = size_ < sizeof(T) ? size_ : sizeof(T);
    if (got > 0) std::memcpy(&value, data_, got);
    data_ += got;
    size_ -= got;
    return value;
  }
  std::string text(size_t count) {
    if (count > size_) count = size_;
    std::string front(reinterpret_cast<const char*>(data_), count);
    data_ += count;
    size_ -= count;
    return front;
  }
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  const uint8_t* data_;
  size_t size_;
};
