// A record's payload that still lies in the file, as a source for walk_event: only what is looked at is read.
#pragma once

#include "io/input.hpp"

namespace tbq {

class FileSource {
 public:
  FileSource(BlockReader& reader, uint64_t offset, uint64_t size)
      : reader_(reader), offset_(offset), size_(size) {}
  uint64_t size() const { return size_; }
  const uint8_t* at(uint64_t offset, size_t count) { return reader_.view(offset_ + offset, count); }

 private:
  BlockReader& reader_;
  uint64_t offset_;
  uint64_t size_;
};

}  // namespace tbq
