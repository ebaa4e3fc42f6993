// An arena: bytes that are all freed together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tbq {

// Copies bytes into growing blocks that live as long as the arena. Large blocks are slabs.
class Arena {
 public:
  const uint8_t* copy(const uint8_t* data, size_t size);
  size_t size() const { return size_; }

 private:
  uint8_t* block(size_t bytes);
  std::vector<std::shared_ptr<void>> blocks_;
  uint8_t* at_ = nullptr;
  size_t left_ = 0;
  size_t next_ = 256;
  size_t size_ = 0;
};

}  // namespace tbq
