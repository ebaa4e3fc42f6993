// Elements of an array as rows of text: the index of each as `i,j,k`, and whole CSV lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tbq {

// Text that was built in one go: `size` bytes are valid.
struct Text {
  std::unique_ptr<char[]> data;
  size_t size = 0;
};

// Walks the indices of an array in C order as text. Rank 0 has one element with an empty index.
class IndexText {
 public:
  // `shape` must not hold a 0, and `start` must lie inside of it.
  IndexText(std::span<const uint64_t> shape, uint64_t start);

  std::string_view text() const { return {text_.data(), size_}; }
  // Goes to the next element, and returns how many bytes of the text stayed as they were.
  size_t next();

  // No index of this shape is longer.
  static size_t longest(std::span<const uint64_t> shape);

 private:
  size_t render(size_t axis);

  std::vector<uint64_t> shape_;
  std::vector<uint64_t> index_;
  std::vector<size_t> begin_;  // where the number of each axis starts in the text
  std::vector<char> text_;
  size_t size_ = 0;
};

// The indices of elements start … start + count as one text and count + 1 offsets into it. The caller has
// checked that they lie in `shape`, and that the text fits 32-bit offsets (longest() * count < 2^31).
Text index_text(std::span<const uint64_t> shape, uint64_t start, size_t count, int32_t* offsets);

// Elements start … start + count of an array; a page of Parquet may hold several such runs.
struct Run {
  std::vector<uint64_t> shape;
  uint64_t start = 0;
  uint64_t count = 0;
};

// The same indices as a data page of Parquet's encoding DELTA_BYTE_ARRAY: how much of the index before it
// each one keeps, and the rest of it. Consecutive indices share almost all, so that is 2 to 3 bytes each.
std::vector<uint8_t> index_page(std::span<const Run> runs);

// CSV lines `prefix index separator value` of one array, the index in quotes if it holds the separator.
// Values are written in the shortest form that reads back to their type. Threads may share one.
class ElementLines {
 public:
  ElementLines(std::string_view prefix, std::span<const uint64_t> shape, char separator);

  // No line takes more bytes, with those that are written past its end.
  size_t longest() const { return longest_; }

  // Writes the lines of elements from `start` on at `to`, where there must be room for longest() each, and
  // returns the end. The elements must lie in the shape.
  template <class T>
  char* write(char* to, uint64_t start, std::span<const T> values) const;

 private:
  // The end of an index and what follows it, copied whole.
  struct Tail {
    static constexpr size_t kText = 15;
    char text[kText];
    uint8_t size;
  };

  std::string head_;             // the prefix, and the quote that opens the index
  std::string close_;            // the quote that closes it, and the separator
  std::vector<uint64_t> outer_;  // the leading axes, written once for inner_ lines
  uint64_t inner_ = 1;           // elements of the others
  std::vector<Tail> tails_;      // their indices; empty if that is one long axis
  size_t longest_ = 0;
};

extern template char* ElementLines::write(char*, uint64_t, std::span<const float>) const;
extern template char* ElementLines::write(char*, uint64_t, std::span<const double>) const;
extern template char* ElementLines::write(char*, uint64_t, std::span<const int64_t>) const;
extern template char* ElementLines::write(char*, uint64_t, std::span<const uint64_t>) const;

}  // namespace tbq
