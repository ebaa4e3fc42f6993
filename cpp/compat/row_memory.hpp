// Allocates memory for the rows of many tags.
#pragma once

#include <cstddef>
#include <memory>

#include "io/slab.hpp"

namespace tbq {

// Hands out parts of large pieces once there is much to store: fresh pages cost as much as writing to them. A
// piece lives as long as any of its parts.
class RowMemory {
 public:
  static constexpr size_t kPiece = size_t{2} << 20;
  static constexpr size_t kAlignment = 64;

  std::shared_ptr<std::byte> take(size_t bytes) {
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    taken_ += bytes;
    if (bytes > kPiece) return owned(make_slab((bytes + kSlab - 1) / kSlab * kSlab));
    if (taken_ < kWorthIt)
      return std::shared_ptr<std::byte>(new std::byte[bytes], std::default_delete<std::byte[]>());
    if (bytes > left_) {
      piece_ = owned(make_slab(kPiece));
      at_ = piece_.get();
      left_ = kPiece;
    }
    std::shared_ptr<std::byte> part(piece_, at_);
    at_ += bytes;
    left_ -= bytes;
    return part;
  }

 private:
  static constexpr size_t kWorthIt = 4 * kPiece;

  static std::shared_ptr<std::byte> owned(const std::shared_ptr<void>& slab) {
    return {slab, static_cast<std::byte*>(slab.get())};
  }

  std::shared_ptr<std::byte> piece_;  // the piece that parts are taken from
  std::byte* at_ = nullptr;
  size_t left_ = 0;
  size_t taken_ = 0;
};

}  // namespace tbq
