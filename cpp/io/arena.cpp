// Allocates blocks that grow: each is four times the size of the last, up to 4 MiB.
#include "io/arena.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "io/sanitizer.hpp"
#include "io/slab.hpp"

namespace tbq {

uint8_t* Arena::block(size_t bytes) {
  if (bytes >= kSlab) {
    blocks_.push_back(make_slab(bytes));
  } else {
    blocks_.push_back({::operator new(bytes), [](void* held) { ::operator delete(held); }});
  }
  return static_cast<uint8_t*>(blocks_.back().get());
}

const uint8_t* Arena::copy(const uint8_t* data, size_t size) {
  if (size > left_ || kSanitized) {
    // A large value gets its own block; the current block stays in use.
    if (size > next_ || kSanitized) {
      uint8_t* own = block(size);
      size_ += size;
      if (size > 0) std::memcpy(own, data, size);
      return own;
    }
    at_ = block(next_);
    left_ = next_;
    next_ = std::min<size_t>(next_ * 4, size_t{4} << 20);
  }
  uint8_t* to = at_;
  if (size > 0) std::memcpy(to, data, size);
  at_ += size;
  left_ -= size;
  size_ += size;
  return to;
}

}  // namespace tbq
