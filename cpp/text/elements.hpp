// Writes the elements of an array as CSV lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tbq {

// Lines `prefix index separator value`; the index of an element is its position in C order. Values have the
// shortest form that reads back to their type. Threads may share one object.
class ElementLines {
 public:
  ElementLines(std::string_view prefix, char separator);

  // The most bytes that a line takes, including the bytes written past its end.
  size_t longest() const { return longest_; }

  // Writes the lines of the elements from `start` on at `to`, which must have room for longest() per line.
  // Returns the end of the text.
  template <class T>
  char* write(char* to, uint64_t start, std::span<const T> values) const;

 private:
  std::string prefix_;  // padded, so that it can be copied in steps
  size_t size_;
  char separator_;
  size_t longest_;
};

extern template char* ElementLines::write(char*, uint64_t, std::span<const float>) const;
extern template char* ElementLines::write(char*, uint64_t, std::span<const double>) const;
extern template char* ElementLines::write(char*, uint64_t, std::span<const int64_t>) const;
extern template char* ElementLines::write(char*, uint64_t, std::span<const uint64_t>) const;

}  // namespace tbq
