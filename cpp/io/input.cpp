// Reads files through a moving window; contains the only system calls for input.
#include "io/input.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "io/memory_file.hpp"
#include "io/sanitizer.hpp"
#include "io/system_call.hpp"

#ifdef _WIN32
#include <io.h>

#include "io/windows_file.hpp"
#else
#include <fcntl.h>
#include <unistd.h>
#endif

namespace tbq {

int File::open(const std::string& path) {
  close();
  if (MemoryFile::is_path(path)) {
    memory_ = MemoryFile::find(path);
    if (!memory_) return ENOENT;
    status_ = {};
    status_.size = memory_->size();
  } else if (const int error = open_disk(path); error != 0) {
    return error;
  }
  static std::atomic<uint64_t> opened{0};
  id_ = ++opened;
  return 0;
}

int File::open_disk(const std::string& path) {
#ifdef _WIN32
  fd_ = open_windows_file(path, false);
  if (fd_ < 0) return -fd_;
#else
  // A FIFO must not block the open.
  fd_ = retried([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
  if (fd_ < 0) return errno;
#endif
  status_ = status_of(fd_);
  if (status_.error != 0) return status_.error;
  if (status_.is_directory) return EISDIR;
  if (!status_.is_regular) return EINVAL;
  return 0;
}

void File::close() {
  memory_.reset();
  if (fd_ < 0) return;
#ifdef _WIN32
  _close(fd_);
#else
  ::close(fd_);
#endif
  fd_ = -1;
}

int64_t File::read_at(uint64_t offset, void* into, size_t count) const {
  if (memory_) {
    const uint64_t size = memory_->size();
    const auto got = static_cast<size_t>(offset < size ? std::min<uint64_t>(count, size - offset) : 0);
    if (got > 0) std::memcpy(into, memory_->data() + offset, got);
    return static_cast<int64_t>(got);
  }
  size_t done = 0;
  while (done < count) {
    const size_t wanted = std::min(count - done, kLargestCall);
#ifdef _WIN32
    const int64_t got = read_windows_file(fd_, offset + done, static_cast<uint8_t*>(into) + done, wanted);
#else
    const auto read = retried([&] {
      return ::pread(fd_, static_cast<uint8_t*>(into) + done, wanted, static_cast<off_t>(offset + done));
    });
    const int64_t got = read < 0 ? -errno : read;
#endif
    if (got < 0) {
      if (done > 0) break;  // a bad sector: return the bytes before it; the next call returns the error
      return got;
    }
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return static_cast<int64_t>(done);
}

uint64_t File::next_data(uint64_t offset) const {
  if (memory_) return offset;
#if defined(SEEK_DATA) && !defined(_WIN32)
  // lseek moves the file position, which no read here depends on.
  const off_t data_at = retried([&] { return ::lseek(fd_, static_cast<off_t>(offset), SEEK_DATA); });
  if (data_at >= 0) return std::max(offset, static_cast<uint64_t>(data_at));
  if (errno == ENXIO) return std::max(offset, status_.size);  // nothing but a hole to the end
#endif
  return offset;
}

BlockReader::~BlockReader() { unpoison(buffer_.get(), capacity_); }

void BlockReader::reset(const File* file, uint64_t end) {
  file_ = file;
  if (file_id_ == file->id() && end_ == end && error_ == 0) return;
  file_id_ = file->id();
  end_ = end;
  base_ = 0;
  have_ = 0;
  error_ = 0;
  bytes_read_ = 0;
  ahead_ = block_;  // a file is read in full from its start: no small first step
}

const uint8_t* BlockReader::fill(uint64_t offset, size_t count) {
  if (offset >= end_ || count > end_ - offset) return nullptr;
  size_t keep = 0;
  if (offset >= base_ && offset - base_ < have_) {
    keep = have_ - static_cast<size_t>(offset - base_);
    std::memmove(buffer_.get(), buffer_.get() + (offset - base_), keep);
    ahead_ = std::min(block_, ahead_ + ahead_ / 2 + 1);
  } else if (have_ > 0 && offset == base_ + have_) {
    ahead_ = std::min(block_, ahead_ + ahead_ / 2 + 1);
  } else if (have_ > 0) {
    ahead_ = std::min<size_t>(block_, 16 * 1024);  // a jump
  }
  base_ = offset;
  have_ = keep;
  const auto want = static_cast<size_t>(std::min<uint64_t>(std::max(count, keep + ahead_), end_ - offset));
  if (want > capacity_) {
    const size_t capacity = std::max(want, block_ * 2);
    auto bigger = std::make_unique_for_overwrite<uint8_t[]>(capacity);
    if (keep > 0) std::memcpy(bigger.get(), buffer_.get(), keep);
    unpoison(buffer_.get(), capacity_);
    buffer_ = std::move(bigger);
    capacity_ = capacity;
  }
  unpoison(buffer_.get(), capacity_);
  const int64_t got = file_->read_at(offset + keep, buffer_.get() + keep, want - keep);
  if (got < 0) {
    error_ = static_cast<int>(-got);
    end_ = offset + keep;
  } else {
    have_ += static_cast<size_t>(got);
    bytes_read_ += static_cast<uint64_t>(got);
    if (have_ < want) {  // the file has shrunk, or cannot be read from here on
      end_ = base_ + have_;
      const int64_t more = file_->read_at(end_, buffer_.get() + have_, 1);
      if (more < 0) error_ = static_cast<int>(-more);
    }
  }
  poison(buffer_.get() + have_,
         capacity_ - have_);  // the sanitizer reports reads past the window
  return count <= have_ ? buffer_.get() : nullptr;
}

}  // namespace tbq
