// Reads the status of a path with one system call.
#include "io/file_status.hpp"

#include <sys/stat.h>

#include <cerrno>

#include "io/system_call.hpp"

#ifdef _WIN32
#include <filesystem>
#endif

namespace tbq {
namespace {

#ifdef _WIN32
using Info = struct _stat64;
#else
using Info = struct stat;

template <class Time>
int64_t nanoseconds(const Time& time) {
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + static_cast<int64_t>(time.tv_nsec);
}
#endif

FileStatus status_from(int failed, const Info& info) {
  FileStatus status;
  if (failed != 0) {
    status.error = errno;
    return status;
  }
#ifdef _WIN32
  status.is_regular = (info.st_mode & _S_IFREG) != 0;
  status.is_directory = (info.st_mode & _S_IFDIR) != 0;
  status.modified = static_cast<int64_t>(info.st_mtime) * 1'000'000'000;  // whole seconds only
#else
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
#endif
  status.size = static_cast<uint64_t>(info.st_size);
  return status;
}

}  // namespace

FileStatus status_of(const std::string& path) {
  Info info;
#ifdef _WIN32
  const std::filesystem::path native(reinterpret_cast<const char8_t*>(path.c_str()));
  return status_from(_wstat64(native.c_str(), &info), info);
#else
  return status_from(retried([&] { return ::stat(path.c_str(), &info); }), info);
#endif
}

FileStatus status_of(int descriptor) {
  Info info;
#ifdef _WIN32
  return status_from(_fstat64(descriptor, &info), info);
#else
  return status_from(retried([&] { return ::fstat(descriptor, &info); }), info);
#endif
}

}  // namespace tbq
