// Allocates slabs and recycles them through a cache.
#include "io/slab.hpp"

#include <algorithm>
#include <thread>

#include "io/sanitizer.hpp"

#if defined(__linux__) || defined(__APPLE__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace tbq {
namespace {

constexpr size_t kLargePage = size_t{2} << 20;

std::align_val_t alignment_of(size_t bytes) {
  return std::align_val_t{bytes >= kLargePage ? kLargePage : 64};
}

void free_slab(void* memory, size_t bytes) noexcept { ::operator delete(memory, alignment_of(bytes)); }

void want_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (bytes >= kLargePage) madvise(memory, bytes, MADV_HUGEPAGE);
#endif
}

// Lets the system take the pages, without further notice, if it needs them before they are written to. With
// large pages the cost is not measurable; small pages are not worth it.
void offer_pages([[maybe_unused]] void* memory, [[maybe_unused]] size_t bytes) {
#ifdef MADV_FREE
  if (bytes >= kLargePage) madvise(memory, bytes / kLargePage * kLargePage, MADV_FREE);
#endif
}

SlabCache& slab_cache() {
  alignas(SlabCache) static unsigned char room[sizeof(SlabCache)];
  static auto* cache = new (room) SlabCache;  // never destroyed: a table may outlive every static
  return *cache;
}

}  // namespace

void* SlabCache::reuse(size_t bytes) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return nullptr;
  for (size_t i = count_; i-- > 0;) {
    if (kept_[i].bytes != bytes) continue;
    void* memory = kept_[i].memory;
    std::move(kept_ + i + 1, kept_ + count_, kept_ + i);
    --count_;
    held_ -= bytes;
    return memory;
  }
  return nullptr;
}

bool SlabCache::keep(void* memory, size_t bytes, Clock::time_point now) noexcept {
  if (bytes > kLargestSlab) return false;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;
  size_t old = 0;
  for (size_t left = held_; old < count_; left -= kept_[old++].bytes) {
    const bool room = count_ - old < kMostSlabs && left <= kMostBytes - bytes;
    if (room && now - kept_[old].since <= kLongest) break;
  }
  drop(old);
  offer_pages(memory, bytes);
  kept_[count_++] = {memory, bytes, now};
  held_ += bytes;
  return true;
}

size_t SlabCache::trim(Clock::time_point until) noexcept {
  std::unique_lock lock(mutex_, std::try_to_lock);
  for (int tries = 0; !lock && tries < 100; ++tries) {
    std::this_thread::yield();
    lock = std::unique_lock(mutex_, std::try_to_lock);
  }
  if (!lock) return 0;
  size_t old = 0;
  while (old < count_ && kept_[old].since <= until) ++old;
  return drop(old);
}

size_t SlabCache::held() const noexcept {
  const std::lock_guard lock(mutex_);
  return held_;
}

size_t SlabCache::drop(size_t count) noexcept {
  size_t freed = 0;
  for (size_t i = 0; i < count; ++i) {
    freed += kept_[i].bytes;
    free_slab(kept_[i].memory, kept_[i].bytes);
  }
  std::move(kept_ + count, kept_ + count_, kept_);
  count_ -= count;
  held_ -= freed;
  return freed;
}

void* acquire_slab(size_t bytes) {
  if (void* recycled = kSanitized ? nullptr : slab_cache().reuse(bytes)) return recycled;
  void* memory = ::operator new(bytes, alignment_of(bytes));
  want_large_pages(memory, bytes);
  return memory;
}

void recycle_slab(void* memory, size_t bytes) noexcept {
  if (kSanitized || !slab_cache().keep(memory, bytes)) free_slab(memory, bytes);
}

std::shared_ptr<void> make_slab(size_t bytes) {
  return {acquire_slab(bytes), [bytes](void* held) { recycle_slab(held, bytes); }};
}

void discard_pages([[maybe_unused]] void* memory, [[maybe_unused]] size_t bytes) noexcept {
#if defined(__linux__)
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(memory) + page - 1) / page * page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + bytes) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
#endif
}

size_t release_memory() noexcept { return slab_cache().trim(); }

}  // namespace tbq
