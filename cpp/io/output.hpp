// Writing a new file through a buffer; the only system calls for output.
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

  // Makes a file that must not be there yet; an empty path only counts, that of a MemoryFile (which must be
  // empty) fills it. Returns 0 or an errno.
  int open(const std::string& path);
  // Writes what is in the buffer and closes. Returns the first errno of all writes, or 0.
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
  std::shared_ptr<std::string> memory_;  // in place of a descriptor
  int error_ = 0;
  uint64_t bytes_ = 0;
  size_t used_ = 0;
  std::unique_ptr<uint8_t[]> buffer_;
};

}  // namespace tbq
