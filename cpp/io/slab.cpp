// Slabs and their cache.
#include "io/slab.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace tbq {
namespace {

constexpr size_t kLargePage = size_t{2} << 20;

// Slabs that were given back, kept for the next decode: clearing fresh pages costs a fifth of it.
class SlabCache {
 public:
  void* take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    for (auto& [size, memory] : kept_) {
      if (size != bytes) continue;
      void* taken = memory;
      std::swap(kept_.back(), *std::find(kept_.begin(), kept_.end(), std::pair{size, memory}));
      kept_.pop_back();
      held_ -= bytes;
      return taken;
    }
    return nullptr;
  }
  bool keep(size_t bytes, void* memory) {
    const std::lock_guard lock(mutex_);
    if (bytes > kLargestSlab || bytes + held_ > kMost) return false;
    kept_.emplace_back(bytes, memory);
    held_ += bytes;
    return true;
  }

 private:
  static constexpr size_t kMost = size_t{128} << 20;
  std::mutex mutex_;
  std::vector<std::pair<size_t, void*>> kept_;
  size_t held_ = 0;
};

SlabCache& slab_cache() {
  static auto* cache = new SlabCache;  // never destroyed: a table may outlive every static
  return *cache;
}

std::align_val_t alignment_of(size_t bytes) {
  return std::align_val_t{bytes >= kLargePage ? kLargePage : 64};
}

}  // namespace

void* take_slab(size_t bytes) {
  void* memory = slab_cache().take(bytes);
  if (!memory) {
    memory = ::operator new(bytes, alignment_of(bytes));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (bytes >= kLargePage) madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  }
  return memory;
}

void give_slab(void* memory, size_t bytes) {
  if (!slab_cache().keep(bytes, memory)) ::operator delete(memory, alignment_of(bytes));
}

std::shared_ptr<void> make_slab(size_t bytes) {
  return {take_slab(bytes), [bytes](void* held) { give_slab(held, bytes); }};
}

}  // namespace tbq
