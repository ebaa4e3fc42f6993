// The system's information about a path, for detecting changes.
#pragma once

#include <cstdint>
#include <string>

namespace tbq {

struct FileStatus {
  int error = 0;  // an errno, if the path could not be examined
  bool is_regular = false;
  bool is_directory = false;
  uint64_t size = 0;
  int64_t modified = 0;  // nanoseconds
  int64_t changed = 0;   // like `modified`, but also for changes of name, mode or links; 0 if unknown
  uint64_t device = 0;
  uint64_t inode = 0;  // 0 if the file system has none

  bool operator==(const FileStatus&) const = default;
  // Whether both can be the same file, which may have grown in between.
  bool is_same_file(const FileStatus& other) const {
    return error == other.error && device == other.device && inode == other.inode;
  }
  // Whether both are the same file with the same bytes; its name, mode or links may have changed.
  bool is_unwritten_since(const FileStatus& other) const {
    return is_same_file(other) && is_regular == other.is_regular && size == other.size &&
           modified == other.modified;
  }
};

FileStatus status_of(const std::string& path);
FileStatus status_of(int descriptor);

}  // namespace tbq
