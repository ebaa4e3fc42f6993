// Reading a file in blocks: never mapped, so that a file that shrinks is an early end and not a signal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "io/file_status.hpp"

namespace tbq {

// An open file. Paths are UTF-8 (on POSIX: whatever bytes the system uses), or those of a MemoryFile.
class File {
 public:
  File() = default;
  ~File() { close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // 0, or an errno.
  int open(const std::string& path);
  void close();
  uint64_t size() const { return status_.size; }  // when it was opened
  const FileStatus& status() const { return status_; }
  uint64_t id() const { return id_; }  // another for each file that is opened
  // Reads up to `count` bytes at `offset`; returns how many came, 0 at the end, or -errno if none came.
  int64_t read_at(uint64_t offset, void* into, size_t count) const;
  // The first stored byte at or after `offset`; what lies between is a hole of a sparse file, which reads as
  // zeros. `offset` itself if the system does not tell.
  uint64_t next_data(uint64_t offset) const;

 private:
  int open_disk(const std::string& path);
  int fd_ = -1;
  std::shared_ptr<const std::string> memory_;  // in place of a descriptor
  FileStatus status_;
  uint64_t id_ = 0;
};

// A window of a file that moves forward (or jumps). Reading ahead starts small after a jump and grows while
// the reading is sequential, so that what is skipped is mostly not read.
class BlockReader {
 public:
  explicit BlockReader(size_t block = kBlock) : block_(block < 1 ? 1 : block) {}
  ~BlockReader();
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;

  // Starts on a file, which must outlive its use here; bytes at or past `end` are never seen. What has been
  // read of this same file stays in the window.
  void reset(const File* file, uint64_t end);

  // Where the file ends for this reader: less than it was if a read came back short.
  uint64_t end() const { return end_; }
  int error() const { return error_; }
  uint64_t bytes_read() const { return bytes_read_; }

  // A pointer to `count` bytes at `offset`, or null when the file does not have them. Valid until the next
  // call.
  const uint8_t* view(uint64_t offset, size_t count) {
    if (offset >= base_ && offset - base_ <= have_ && count <= have_ - static_cast<size_t>(offset - base_)) {
      return buffer_.get() + (offset - base_);
    }
    return fill(offset, count);
  }

  // What lies in the window from `offset` on: at least one byte unless the file has ended there.
  size_t available(uint64_t offset, const uint8_t*& data) {
    data = view(offset, 1);
    if (!data) return 0;
    return have_ - static_cast<size_t>(offset - base_);
  }

  // The end of the hole of a sparse file at `offset`, or `offset` if there is none.
  uint64_t after_hole(uint64_t offset) const {
    return offset < end_ ? std::min(file_->next_data(offset), end_) : offset;
  }

  static constexpr size_t kBlock = 256 * 1024;

 private:
  const uint8_t* fill(uint64_t offset, size_t count);

  const File* file_ = nullptr;
  uint64_t file_id_ = 0;
  size_t block_;
  size_t ahead_ = 0;  // how much the next read asks for at least
  uint64_t end_ = 0;
  uint64_t base_ = 0;  // file offset of the first byte of the window
  size_t have_ = 0;
  size_t capacity_ = 0;
  int error_ = 0;
  uint64_t bytes_read_ = 0;
  std::unique_ptr<uint8_t[]> buffer_;
};

}  // namespace tbq
