// Reads the status of a path with one system call.
#include "io/file_status.hpp"

#ifdef _WIN32

#include "io/windows_file.hpp"

namespace tbq {

FileStatus status_of(const std::string& path) { return windows_status(path); }
FileStatus status_of(int descriptor) { return windows_status(descriptor); }

}  // namespace tbq

#else

#include <sys/stat.h>

#include <cerrno>

#include "io/system_call.hpp"

namespace tbq {
namespace {

using Info = struct stat;

template <class Time>
int64_t nanoseconds(const Time& time) {
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + static_cast<int64_t>(time.tv_nsec);
}

FileStatus status_from(int failed, const Info& info) {
  FileStatus status;
  if (failed != 0) {
    status.error = errno;
    return status;
  }
  status.is_regular = S_ISREG(info.st_mode);
  status.is_directory = S_ISDIR(info.st_mode);
#ifdef __APPLE__
  status.modified = nanoseconds(info.st_mtimespec);
  status.changed = nanoseconds(info.st_ctimespec);
#else
  status.modified = nanoseconds(info.st_mtim);
  status.changed = nanoseconds(info.st_ctim);
#endif
  status.device = static_cast<uint64_t>(info.st_dev);
  status.inode = static_cast<uint64_t>(info.st_ino);
  status.size = static_cast<uint64_t>(info.st_size);
  return status;
}

}  // namespace

FileStatus status_of(const std::string& path) {
  Info info;
  return status_from(retried([&] { return ::stat(path.c_str(), &info); }), info);
}

FileStatus status_of(int descriptor) {
  Info info;
  return status_from(retried([&] { return ::fstat(descriptor, &info); }), info);
}

}  // namespace tbq

#endif
