// The records of one file, each returned once, even if the file is read in many pieces while it grows.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "bytes/cursor.hpp"
#include "io/file_status.hpp"
#include "record/fault.hpp"

namespace tbq {

// Threads that use one object at the same time take turns.
class RecordFile {
 public:
  explicit RecordFile(std::string path, uint64_t offset = 0) : path_(std::move(path)), offset_(offset) {}

  // Calls `take` with the payload and the offset of each new record, until `take` returns false. Checks an
  // unfinished record at the end, and damage with nothing after it, again when the file has grown. A file
  // that is not the one that was read first has nothing new. Returns 0, or an errno.
  int read(const std::function<bool(Bytes, uint64_t)>& take);

  // Treats the file that has this path now as the one that was read so far.
  void accept_replacement() {
    const std::lock_guard turn(mutex_);
    known_ = false;
  }

  const std::string& path() const { return path_; }
  // Where the next record is expected.
  uint64_t offset() const {
    const std::lock_guard turn(mutex_);
    return offset_;
  }
  uint64_t unfinished() const {
    const std::lock_guard turn(mutex_);
    return unfinished_;
  }
  // Damage skipped since the last call: the first faults, and the number of further ones.
  std::pair<std::vector<Fault>, uint64_t> take_faults() {
    const std::lock_guard turn(mutex_);
    return {std::exchange(faults_, {}), std::exchange(more_faults_, 0)};
  }

 private:
  struct Visitor;

  const std::string path_;
  mutable std::mutex mutex_;  // guards all members below
  FileStatus status_;
  bool known_ = false;      // status_ is valid
  bool stopped_ = false;    // `take` ended the last read
  uint64_t read_size_ = 0;  // size of the file when it was last read to its end
  uint64_t offset_ = 0;
  uint64_t unfinished_ = 0;
  uint64_t reported_ = 0;  // damage before this offset was already reported
  std::vector<Fault> faults_;
  uint64_t more_faults_ = 0;  // faults that are not listed
};

}  // namespace tbq
