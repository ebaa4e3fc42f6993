// Histograms as columns, filled while the file is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bytes/cursor.hpp"
#include "decode/blob_rows.hpp"

namespace tbq {

// Histograms are tensors of [k, 3] doubles: left, right and count of k bins. Those of a tag that has many are
// kept as three columns, to which a table can point.
class HistogramColumns {
 public:
  // The doubles of a tensor that is [k, 3] float64 and holds them in tensor_content; empty if it is anything
  // else.
  Bytes numbers(Bytes tensor);
  // How many bins there is room for.
  uint64_t left() const { return left_; }
  // New columns of `capacity` bins, whole lines of them, in memory for as many that is aligned to lines; what
  // is left of those before is given up.
  void grow(uint8_t* memory, uint32_t capacity);
  // Moves `numbers` into the columns, where there must be room, and lets the row's payload be the first of
  // them.
  void append(Bytes numbers, BlobRow& row);
  // Makes all rows readable; nothing can be appended before it grows again.
  void flush();
  static constexpr size_t kBin = 3 * sizeof(double);
  static constexpr size_t kLine = 64 / sizeof(double);

 private:
  alignas(16) double line_[3][kLine];  // of each column, the line that is not full yet
  size_t open_ = 0;                    // doubles in those
  double* lines_ = nullptr;            // where they will be in the first column
  uint32_t stride_ = 0;                // doubles from one column to the next
  uint32_t left_ = 0;
  std::string head_;  // what stood before the numbers in the last tensor
  size_t size_ = 0;   // of that tensor
};

}  // namespace tbq
