// Slabs: large pieces of memory, on large pages if the system has them, recycled for a while because fresh
// pages cost more than the work done in them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>

namespace tbq {

constexpr size_t kSlab = size_t{1} << 20;  // slabs pay off from this size on
std::shared_ptr<void> make_slab(size_t bytes);
void* acquire_slab(size_t bytes);
void recycle_slab(void* memory, size_t bytes) noexcept;

// Returns the pages inside this memory to the system, if the system allows it; their content is lost.
void discard_pages(void* memory, size_t bytes) noexcept;

// Returns all memory kept for recycling to the system; returns its size in bytes.
size_t release_memory() noexcept;

// Slabs that were returned, kept for the next decode, which mostly needs the same sizes. The cache is bounded
// in bytes and number and drops the oldest slab first. A slab unused for kLongest is freed when the next slab
// is returned; until then, the system may reclaim the pages of large slabs if it is short of memory. No
// function here allocates, throws or waits, because a deleter calls it, and another thread may be inside
// while the process forks. If the lock is taken, the slab is not recycled.
class SlabCache {
 public:
  using Clock = std::chrono::steady_clock;

  // A slab of exactly this size, or null.
  void* reuse(size_t bytes) noexcept;
  // Returns false if the slab is not kept; then the caller frees it.
  bool keep(void* memory, size_t bytes, Clock::time_point now = Clock::now()) noexcept;
  // Frees all slabs that were returned at `until` or before; returns their size in bytes.
  size_t trim(Clock::time_point until = Clock::time_point::max()) noexcept;
  size_t held() const noexcept;

  static constexpr size_t kMostBytes = size_t{128} << 20;
  static constexpr size_t kMostSlabs = 256;
  static constexpr size_t kLargestSlab = size_t{32} << 20;
  static constexpr std::chrono::seconds kLongest{10};

 private:
  struct Kept {
    void* memory;
    size_t bytes;
    Clock::time_point since;
  };
  // Frees the `count` oldest; the caller holds the lock.
  size_t drop(size_t count) noexcept;

  mutable std::mutex mutex_;
  Kept kept_[kMostSlabs] = {};  // in the order in which they were returned
  size_t count_ = 0;
  size_t held_ = 0;
};

// Lets a standard container use slabs once it is large.
template <class T>
struct SlabAllocator {
  using value_type = T;
  SlabAllocator() = default;
  template <class U>
  SlabAllocator(const SlabAllocator<U>&) {}  // NOLINT(google-explicit-constructor): the standard requires it
  T* allocate(size_t count) {
    if (count > SIZE_MAX / 2 / sizeof(T)) throw std::bad_alloc();
    const size_t bytes = count * sizeof(T);
    return static_cast<T*>(bytes < kSlab ? ::operator new(bytes) : acquire_slab(rounded_up(bytes)));
  }
  void deallocate(T* memory, size_t count) {
    const size_t bytes = count * sizeof(T);
    if (bytes < kSlab) {
      ::operator delete(memory);
    } else {
      recycle_slab(memory, rounded_up(bytes));
    }
  }
  bool operator==(const SlabAllocator&) const = default;

 private:
  // Few different sizes, so that the cache has a match more often.
  static size_t rounded_up(size_t bytes) { return (bytes + kSlab - 1) / kSlab * kSlab; }
};

}  // namespace tbq
