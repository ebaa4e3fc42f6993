// Writes a new file through a buffer; contains the only system calls for output.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bytes/cursor.hpp"

namespace tbq {

class Output {
 public:
  Output() = default;
  ~Output() { close(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Creates a file, which must not exist yet. With an empty path, writes are only counted. The path of an
  // (empty) MemoryFile fills that file. Returns 0 or an errno.
  int open(const std::string& path);
  // Writes the buffer and closes the file. Returns the first errno of all writes, or 0.
  int close();
  // False once a write has failed; error() says why.
  bool write(Bytes bytes);
  int error() const { return error_; }
  uint64_t bytes() const { return bytes_; }

 private:
  bool flush();
  bool put(const uint8_t* data, size_t size);

  static constexpr size_t kBuffer = 256 * 1024;
  int fd_ = -1;
  std::shared_ptr<std::string> memory_;  // instead of a descriptor
  int error_ = 0;
  uint64_t bytes_ = 0;
  size_t used_ = 0;
  std::unique_ptr<uint8_t[]> buffer_;
};

}  // namespace tbq
