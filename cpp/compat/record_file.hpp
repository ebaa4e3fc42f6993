// The records of one file, given once each, however often and in what pieces it is read while it grows.
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

// Threads that use one at the same time take turns.
class RecordFile {
 public:
  explicit RecordFile(std::string path, uint64_t offset = 0) : path_(std::move(path)), offset_(offset) {}

  // Calls `take` with the payload and the place of each record that has not been given, until it returns
  // false. An unfinished record at the end, and damage with nothing after it, are looked at again when the
  // file has grown. A file that is not the one that was read first has nothing new. Returns 0, or an errno.
  int read(const std::function<bool(Bytes, uint64_t)>& take);

  // Takes the file that has this name now for the one that was read so far.
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
  // Damage that was passed over since the last call: the first places, and how many came after them.
  std::pair<std::vector<Fault>, uint64_t> take_faults() {
    const std::lock_guard turn(mutex_);
    return {std::exchange(faults_, {}), std::exchange(more_faults_, 0)};
  }

 private:
  struct Visitor;

  const std::string path_;
  mutable std::mutex mutex_;  // of all that follow
  FileStatus status_;
  bool known_ = false;      // status_ is that of the file
  bool stopped_ = false;    // `take` ended the last read
  uint64_t read_size_ = 0;  // of the file when it was last read to its end
  uint64_t offset_ = 0;
  uint64_t unfinished_ = 0;
  uint64_t told_ = 0;  // damage before this has been told
  std::vector<Fault> faults_;
  uint64_t more_faults_ = 0;  // that are not among them
};

}  // namespace tbq
