// Memory on large pages where the system has them, kept for the next one that asks when it is given back:
// fresh pages cost more than what is done in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace tbq {

constexpr size_t kSlab = size_t{1} << 20;          // worth it from here on
constexpr size_t kLargestSlab = size_t{32} << 20;  // that is recycled
std::shared_ptr<void> make_slab(size_t bytes);
void* take_slab(size_t bytes);
void give_slab(void* memory, size_t bytes);

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
    return static_cast<T*>(bytes < kSlab ? ::operator new(bytes) : take_slab(whole(bytes)));
  }
  void deallocate(T* memory, size_t count) {
    const size_t bytes = count * sizeof(T);
    if (bytes < kSlab) {
      ::operator delete(memory);
    } else {
      give_slab(memory, whole(bytes));
    }
  }
  bool operator==(const SlabAllocator&) const = default;

 private:
  // Few sizes, so that they are found again.
  static size_t whole(size_t bytes) { return (bytes + kSlab - 1) / kSlab * kSlab; }
};

}  // namespace tbq
