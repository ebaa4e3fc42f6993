// Memory in large pieces, on large pages if the system has them, recycled for a while: fresh pages cost
// more than what is done in them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>

namespace tbq {

constexpr size_t kSlab = size_t{1} << 20;  // worth it from here on
std::shared_ptr<void> make_slab(size_t bytes);
void* acquire_slab(size_t bytes);
void recycle_slab(void* memory, size_t bytes) noexcept;

// Gives the pages that lie in this memory back to the system, where it can: what was in them is lost.
void discard_pages(void* memory, size_t bytes) noexcept;

// Gives all memory that is kept for recycling back to the system; returns how many bytes that were.
size_t release_memory() noexcept;

// Slabs that were given back, kept for the next decode, which mostly wants the same sizes. Bounded in bytes
// and number, the oldest go first; what nobody has asked for in kLongest is freed when the next slab is given
// back. Until then the system may reclaim the pages of large ones whenever it is short of memory. Nothing in
// here allocates, throws or waits, for a deleter calls it, and another thread may be inside while the process
// forks: if the lock is taken, a slab is not recycled.
class SlabCache {
 public:
  using Clock = std::chrono::steady_clock;

  // A slab of exactly this size, or null.
  void* reuse(size_t bytes) noexcept;
  // False if it is not kept; then the caller frees it.
  bool keep(void* memory, size_t bytes, Clock::time_point now = Clock::now()) noexcept;
  // Frees all slabs that were given back at `until` or before; returns how many bytes that were.
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
  // Frees the first `count`, with the lock held.
  size_t drop(size_t count) noexcept;

  mutable std::mutex mutex_;
  Kept kept_[kMostSlabs] = {};  // in the order in which they were given back
  size_t count_ = 0;
  size_t held_ = 0;
};

// Lets a standard container take slabs once it is large.
template <class T>
struct SlabAllocator {
  using value_type = T;
  SlabAllocator() = default;
  template <class U>
  SlabAllocator(const SlabAllocator<U>&) {}  // NOLINT(google-explicit-constructor): the standard wants it
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
  // Few sizes, so that they are found again.
  static size_t rounded_up(size_t bytes) { return (bytes + kSlab - 1) / kSlab * kSlab; }
};

}  // namespace tbq
