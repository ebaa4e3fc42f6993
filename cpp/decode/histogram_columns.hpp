// Stores histograms as columns while the file is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bytes/cursor.hpp"
#include "decode/blob_rows.hpp"

namespace tbq {

// Histograms are tensors of [k, 3] doubles: left, right and count of k bins. Tags with many histograms store
// them as three columns, to which a table can point.
class HistogramColumns {
 public:
  // The doubles of a [k, 3] float64 tensor in tensor_content; empty for anything else.
  Bytes numbers(Bytes tensor);
  // The number of bins that there is room for.
  uint64_t left() const { return left_; }
  // Starts new columns of `capacity` bins (entire lines) in memory of that size, aligned to lines. Room left
  // in the old columns is abandoned.
  void grow(uint8_t* memory, uint32_t capacity);
  // Moves `numbers` into the columns, which must have room, and points the row's payload to the first of
  // them.
  void append(Bytes numbers, BlobRow& row);
  // Makes all rows readable; append() then needs grow() first.
  void flush();
  static constexpr size_t kBin = 3 * sizeof(double);
  static constexpr size_t kLine = 64 / sizeof(double);

 private:
  alignas(16) double line_[3][kLine];  // the incomplete line of each column
  size_t open_ = 0;                    // doubles in these lines
  double* lines_ = nullptr;            // their position in the first column
  uint32_t stride_ = 0;                // doubles between one column and the next
  uint32_t left_ = 0;
  std::string head_;  // the bytes before the numbers in the last tensor
  size_t size_ = 0;   // the size of that tensor
};

}  // namespace tbq
