// Writes output by write(2), or by _write on Windows.
#include "io/output.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "io/memory_file.hpp"
#include "io/system_call.hpp"

#ifdef _WIN32
#include <io.h>

#include "io/windows_file.hpp"
#else
#include <fcntl.h>
#include <unistd.h>
#endif

namespace tbq {

int Output::open(const std::string& path) {
  close();
  error_ = 0;
  bytes_ = 0;
  if (path.empty()) return 0;
  if (MemoryFile::is_path(path)) {
    memory_ = MemoryFile::find(path);
    if (!memory_) return error_ = ENOENT;
    if (!memory_->empty()) return error_ = EEXIST;
    return 0;
  }
#ifdef _WIN32
  fd_ = open_windows_file(path, true);
  if (fd_ < 0) return error_ = -fd_;
#else
  fd_ = retried([&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
  if (fd_ < 0) return error_ = errno;
#endif
  if (!buffer_) buffer_ = std::make_unique_for_overwrite<uint8_t[]>(kBuffer);
  return 0;
}

int Output::close() {
  memory_.reset();
  if (fd_ < 0) return error_;
  flush();
#ifdef _WIN32
  const int failed = _close(fd_);
#else
  const int failed = ::close(fd_);
#endif
  if (failed != 0 && errno != EINTR && error_ == 0) error_ = errno;  // EINTR: the file is closed anyway
  fd_ = -1;
  return error_;
}

bool Output::write(Bytes bytes) {
  if (error_ != 0) return false;
  bytes_ += bytes.size();
  if (memory_) memory_->append(as_text(bytes));
  if (fd_ < 0 || bytes.empty()) return true;
  if (bytes.size() > kBuffer - used_ && !flush()) return false;
  if (bytes.size() >= kBuffer) return put(bytes.data(), bytes.size());
  std::memcpy(buffer_.get() + used_, bytes.data(), bytes.size());
  used_ += bytes.size();
  return true;
}

bool Output::flush() {
  const size_t size = used_;
  used_ = 0;
  return error_ == 0 && (size == 0 || put(buffer_.get(), size));
}

bool Output::put(const uint8_t* data, size_t size) {
  while (size > 0) {
    const size_t wanted = std::min(size, kLargestCall);
#ifdef _WIN32
    const auto done = _write(fd_, data, static_cast<unsigned>(wanted));
#else
    const auto done = retried([&] { return ::write(fd_, data, wanted); });
#endif
    if (done < 0) {
      error_ = errno;
      return false;
    }
    data += done;
    size -= static_cast<size_t>(done);
  }
  return true;
}

}  // namespace tbq
