// What the system says of a path, to see whether something changed there.
#pragma once

#include <cstdint>
#include <string>

namespace tbq {

struct FileStatus {
  int error = 0;  // errno, if the path could not be looked at
  bool is_regular = false;
  bool is_directory = false;
  uint64_t size = 0;
  int64_t modified = 0;  // nanoseconds
  int64_t changed = 0;   // the same, of its name, mode or links too; 0 if the system does not tell
  uint64_t device = 0;
  uint64_t inode = 0;  // 0 if the file system has none

  bool operator==(const FileStatus&) const = default;
  // Whether both can be the same file: it may have grown.
  bool is_same_file(const FileStatus& other) const {
    return error == other.error && device == other.device && inode == other.inode;
  }
};

FileStatus status_of(const std::string& path);
FileStatus status_of(int descriptor);

}  // namespace tbq
