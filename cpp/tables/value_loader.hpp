// Reads deferred values from their files. The entire record is verified when its first value is read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bytes/seeded_hash.hpp"
#include "decode/result.hpp"
#include "io/growable_buffer.hpp"

namespace tbq {

class ValueLoader {
 public:
  explicit ValueLoader(const std::vector<FileReport>& files);

  // The payload, valid until the next call; `what` is null on success and names the problem otherwise.
  Bytes load(const BlobRow& row, const char*& what);
  // At most `most` bytes of the payload, not verified; empty if they cannot be read. Valid until the next
  // call.
  Bytes head(const BlobRow& row, size_t most);

 private:
  bool lies_in_file(const BlobRow& row);
  const uint8_t* buffer() const { return reinterpret_cast<const uint8_t*>(buffer_.data()); }
  bool read(uint64_t offset, uint64_t count, const char*& what);

  std::vector<std::string> paths_;
  std::vector<NumberSet> verified_;  // records, one set per file
  File file_;
  uint32_t current_ = 0;
  bool opened_ = false;
  GrowableBuffer<char> buffer_;
};

}  // namespace tbq
