// A growing array of plain values; its memory can be handed over without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "io/slab.hpp"

namespace tbq {

// New room is not zeroed.
template <class T>
class GrowableBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowableBuffer() = default;
  GrowableBuffer(GrowableBuffer&& other) noexcept
      : owner_(std::move(other.owner_)), data_(other.data_), size_(other.size_), capacity_(other.capacity_) {
    other.forget();
  }
  GrowableBuffer& operator=(GrowableBuffer&& other) noexcept {
    if (this != &other) {
      owner_ = std::move(other.owner_);
      data_ = other.data_;
      size_ = other.size_;
      capacity_ = other.capacity_;
      other.forget();
    }
    return *this;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  void clear() { size_ = 0; }
  void shrink(size_t size) { size_ = size; }
  std::shared_ptr<void> owner() const { return owner_; }

  // Room for `count` more values at the end, which the caller fills.
  T* extend(size_t count) {
    if (count > capacity_ - size_) reserve(count);
    T* at = data_ + size_;
    size_ += count;
    return at;
  }
  void push(T value) { *extend(1) = value; }
  void append(const T* from, size_t count) {
    if (count > 0) std::memcpy(extend(count), from, count * sizeof(T));
  }
  void fill(T value, size_t count) {
    T* at = extend(count);
    for (size_t i = 0; i < count; ++i) at[i] = value;
  }
  // Makes room for at least `count` more values.
  void reserve(size_t count) {
    if (count <= capacity_ - size_) return;
    if (count > SIZE_MAX / sizeof(T) / 4 - size_) throw std::bad_alloc();
    size_t bytes = (capacity_ < 16 ? 32 : capacity_ * 2) * sizeof(T);
    if (bytes < (size_ + count) * sizeof(T)) bytes = (size_ + count) * sizeof(T);
    std::shared_ptr<void> grown;
    if (bytes >= kSlab) {
      bytes = (bytes + kSlab - 1) / kSlab * kSlab;
      grown = make_slab(bytes);
    } else {
      void* memory = std::malloc(bytes);
      if (!memory) throw std::bad_alloc();
      grown = {memory, std::free};
    }
    if (size_ > 0) std::memcpy(grown.get(), data_, size_ * sizeof(T));
    owner_ = std::move(grown);
    data_ = static_cast<T*>(owner_.get());
    capacity_ = bytes / sizeof(T);
  }

 private:
  void forget() {
    data_ = nullptr;
    size_ = capacity_ = 0;
  }
  std::shared_ptr<void> owner_;
  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace tbq
