// A file in memory that File::open and Output::open find by its path, so that tests and fuzz targets need no
// disk.
#pragma once

#include <memory>
#include <string>

namespace tbq {

class MemoryFile {
 public:
  explicit MemoryFile(std::string content = {});
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // Starts with a NUL byte, so it cannot be a path of a file system.
  const std::string& path() const { return path_; }
  // Must not change while a File is open on it.
  std::string& content() { return *content_; }
  const std::string& content() const { return *content_; }

  static bool is_path(const std::string& path) { return !path.empty() && path[0] == '\0'; }
  // The content of the file at `path`, or null if there is no such file.
  static std::shared_ptr<std::string> find(const std::string& path);

 private:
  std::string path_;
  std::shared_ptr<std::string> content_;
};

}  // namespace tbq
