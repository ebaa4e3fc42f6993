// Directories whose entries are known, until one of them changes.
#pragma once

#include <string>
#include <vector>

#include "io/file_status.hpp"

namespace tbq {

class WatchedPaths {
 public:
  // The paths to look at. All of them count as looked at now.
  void set(std::vector<std::string> paths);
  // Whether one of them changed since then or since the last call; also if it changed so shortly before that
  // a later change may have the same time.
  bool changed();

 private:
  std::vector<std::string> paths_;
  std::vector<FileStatus> known_;
  int64_t looked_ = 0;  // nanoseconds since 1970
};

}  // namespace tbq
