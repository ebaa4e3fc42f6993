// Reads a file in blocks. Files are never mapped, so a file that shrinks is an early end and not a signal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "io/file_status.hpp"

namespace tbq {

// An open file. A path is UTF-8 (on POSIX: any bytes), or the path of a MemoryFile.
class File {
 public:
  File() = default;
  ~File() { close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // 0, or an errno.
  int open(const std::string& path);
  void close();
  uint64_t size() const { return status_.size; }  // at the time it was opened
  const FileStatus& status() const { return status_; }
  uint64_t id() const { return id_; }  // different for each opened file
  // Reads up to `count` bytes at `offset`. Returns the number of bytes read, 0 at the end, or -errno if none
  // was read.
  int64_t read_at(uint64_t offset, void* into, size_t count) const;
  // The first stored byte at or after `offset`; the bytes before it are a hole of a sparse file and read as
  // zeros. Returns `offset` itself if the system cannot say.
  uint64_t next_data(uint64_t offset) const;

 private:
  int open_disk(const std::string& path);
  int fd_ = -1;
  std::shared_ptr<const std::string> memory_;  // instead of a descriptor
  FileStatus status_;
  uint64_t id_ = 0;
};

// A window of a file that moves forward (or jumps). Read-ahead starts small after a jump and grows by half
// while reads are sequential, so most skipped bytes are never read; doubling would read further into them.
class BlockReader {
 public:
  explicit BlockReader(size_t block = kBlock) : block_(block < 1 ? 1 : block) {}
  ~BlockReader();
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;

  // Starts on a file, which must outlive its use here; the reader never sees bytes at or past `end`. The
  // window keeps what it already read of the same file.
  void reset(const File* file, uint64_t end);

  // The end of the file for this reader; lower than before if a read came back short.
  uint64_t end() const { return end_; }
  int error() const { return error_; }
  uint64_t bytes_read() const { return bytes_read_; }

  // A pointer to `count` bytes at `offset`, or null if the file does not have them. Valid until the next
  // call.
  const uint8_t* view(uint64_t offset, size_t count) {
    if (offset >= base_ && offset - base_ <= have_ && count <= have_ - static_cast<size_t>(offset - base_)) {
      return buffer_.get() + (offset - base_);
    }
    return fill(offset, count);
  }

  // The bytes of the window from `offset` on: at least one, unless the file ends there.
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
  size_t ahead_ = 0;  // the least that the next read asks for
  uint64_t end_ = 0;
  uint64_t base_ = 0;  // file offset of the first byte of the window
  size_t have_ = 0;
  size_t capacity_ = 0;
  int error_ = 0;
  uint64_t bytes_read_ = 0;
  std::unique_ptr<uint8_t[]> buffer_;
};

}  // namespace tbq
