// Finds the next valid record after damage, and checks whether a record is valid.
#pragma once

#include <cstdint>

#include "io/input.hpp"
#include "io/stop_flag.hpp"

namespace tbq {

class Recovery {
 public:
  explicit Recovery(BlockReader& reader, const StopFlag* stop = nullptr) : reader_(reader), stop_(stop) {}

  // Whether a record could start at `offset`, or the file ends there.
  bool followed(uint64_t offset);

  // Whether the payload of the complete record at `at` matches its CRC. Holes of a sparse file are not read.
  bool agrees(uint64_t at, uint64_t length);

  // Where to resume after the record at `at` with a bad payload that ends at `next`. That is `next`, if a
  // record or the end of the file follows. It is earlier if valid records inside the bad record end exactly
  // at `next`: then bytes were cut out of it. 0 if nothing follows.
  uint64_t behind(uint64_t at, uint64_t next);

  struct Found {
    uint64_t resume = 0;   // where to resume reading
    bool record = false;   // a valid record starts there (or a lost one ends there, followed by a header)
    bool settled = false;  // bytes appended to the file cannot change this result
  };
  // Searches for the next record from `from` on. If there is none, `resume` is the last unfinished record
  // with a valid header, or the end of the file.
  Found find_record(uint64_t from);

 private:
  // Moves `at` to the first valid header at or after it and sets `length`; false if there is none before
  // `end`.
  bool find_next(uint64_t& at, uint64_t end, uint64_t& length);
  // The end of the consecutive valid records that begin at `at`.
  uint64_t follow(uint64_t at, uint64_t end);
  bool cancelled() const { return stop_ && stop_->is_set(); }

  BlockReader& reader_;
  const StopFlag* stop_;
  uint64_t failed_bytes_ = 0;
};

}  // namespace tbq
