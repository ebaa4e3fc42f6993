// Finding the way on after damage: where the next sound record lies, and whether a record is sound.
#pragma once

#include <cstdint>

#include "io/input.hpp"
#include "io/stop_flag.hpp"

namespace tbq {

class Recovery {
 public:
  explicit Recovery(BlockReader& reader, const StopFlag* stop = nullptr) : reader_(reader), stop_(stop) {}

  // True if a record could start at `offset`, or the file ends there.
  bool followed(uint64_t offset);

  // Whether the payload of the record at `at`, which is all there, agrees with its CRC. Holes of a sparse
  // file are not read.
  bool agrees(uint64_t at, uint64_t length);

  // Where reading goes on after the record at `at` whose payload is bad and ends at `next`: there, if a
  // record or the end of the file follows; or before, at sound records inside of it that end exactly there,
  // since bytes were cut out of it then. 0 if nothing follows.
  uint64_t behind(uint64_t at, uint64_t next);

  struct Found {
    uint64_t resume = 0;   // where reading goes on
    bool record = false;   // a sound record starts there (or a lost one ends there, with a header after it)
    bool settled = false;  // more bytes at the end of the file cannot change that
  };
  // Looks for the next record from `from` on. If there is none, `resume` is the last unfinished record
  // that a header announces, or the end of the file.
  Found find_record(uint64_t from);

 private:
  // The first valid header from `at` on, with `length`, or false if there is none before `end`.
  bool find_next(uint64_t& at, uint64_t end, uint64_t& length);
  // Where the sound records end that follow one another from `at` on.
  uint64_t follow(uint64_t at, uint64_t end);
  bool cancelled() const { return stop_ && stop_->is_set(); }

  BlockReader& reader_;
  const StopFlag* stop_;
  uint64_t failed_bytes_ = 0;
};

}  // namespace tbq
