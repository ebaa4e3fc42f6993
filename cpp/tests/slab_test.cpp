// Tests the cache of slabs, and memory that is poisoned under a sanitizer.
#include "io/slab.hpp"

#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include "decode/tags.hpp"
#include "io/arena.hpp"
#include "io/input.hpp"
#include "io/memory_file.hpp"
#include "io/sanitizer.hpp"
#include "tests/check.hpp"

namespace {

using std::chrono::seconds;
using tbq::SlabCache;

// Memory aligned like slabs, because the cache frees it like slabs.
void* fresh(size_t bytes) {
  return ::operator new(bytes, std::align_val_t{bytes >= (size_t{2} << 20) ? size_t{2} << 20 : 64});
}

}  // namespace

TEST(a_returned_slab_is_reused_by_its_size) {
  SlabCache cache;
  void* one = fresh(1 << 20);
  void* two = fresh(2 << 20);
  CHECK(cache.keep(one, 1 << 20) && cache.keep(two, 2 << 20));
  CHECK(cache.held() == 3 << 20);
  CHECK(cache.reuse(3 << 20) == nullptr);
  CHECK(cache.reuse(2 << 20) == two && cache.reuse(2 << 20) == nullptr);
  std::memset(two, 1, 2 << 20);  // its pages may be gone, but the memory is usable
  CHECK(cache.keep(two, 2 << 20));
  CHECK(cache.reuse(1 << 20) == one);
  CHECK(cache.keep(one, 1 << 20));
  CHECK(cache.trim() == 3 << 20 && cache.held() == 0 && cache.trim() == 0);
}

TEST(kept_slabs_are_bounded_and_the_oldest_go_first) {
  SlabCache cache;
  const size_t large = SlabCache::kLargestSlab;
  void* too_large = fresh(large + 64);
  CHECK(!cache.keep(too_large, large + 64));
  ::operator delete(too_large, std::align_val_t{size_t{2} << 20});
  void* first = fresh(1 << 20);
  CHECK(cache.keep(first, 1 << 20));
  for (size_t i = 0; i < 2 * SlabCache::kMostBytes / large; ++i) {
    CHECK(cache.keep(fresh(large), large));
    CHECK(cache.held() <= SlabCache::kMostBytes);
  }
  CHECK(cache.reuse(1 << 20) == nullptr);
  CHECK(cache.held() == SlabCache::kMostBytes);
  for (size_t i = 0; i < 2 * SlabCache::kMostSlabs; ++i) CHECK(cache.keep(fresh(4096), 4096));
  CHECK(cache.held() == SlabCache::kMostSlabs * 4096);
  CHECK(cache.trim() == SlabCache::kMostSlabs * 4096);
}

TEST(unused_slabs_are_freed) {
  SlabCache cache;
  const SlabCache::Clock::time_point start{};
  CHECK(cache.keep(fresh(1 << 20), 1 << 20, start));
  CHECK(cache.keep(fresh(2 << 20), 2 << 20, start + seconds(5)));
  CHECK(cache.held() == 3 << 20);
  CHECK(cache.keep(fresh(4096), 4096, start + seconds(5) + SlabCache::kLongest));
  CHECK(cache.held() == (2 << 20) + 4096);
  // A gap between two decodes costs nothing: a slab of the right size is reused, however old it is.
  void* old = cache.reuse(2 << 20);
  CHECK(old != nullptr);
  CHECK(cache.keep(old, 2 << 20, start + seconds(1000)));
  CHECK(cache.held() == 2 << 20);
  CHECK(cache.trim(start + seconds(999)) == 0 && cache.trim(start + seconds(1000)) == 2 << 20);
}

TEST(slabs_are_shared_by_threads) {
  SlabCache cache;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&cache, i] {
      for (int k = 0; k < 200; ++k) {
        void* memory = cache.reuse(8192);
        if (memory == nullptr) memory = fresh(8192);
        std::memset(memory, i, 8192);
        if (!cache.keep(memory, 8192)) ::operator delete(memory, std::align_val_t{64});
        if (k % 50 == 0) cache.trim();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  cache.trim();
  CHECK(cache.held() == 0);
}

#ifdef TBQ_ADDRESS_SANITIZER
namespace {
bool is_poisoned(const void* memory) { return __asan_address_is_poisoned(memory) != 0; }
}  // namespace

TEST(the_sanitizer_sees_accesses_to_unused_memory) {
  // A slab that was returned.
  auto* slab = static_cast<uint8_t*>(tbq::acquire_slab(1 << 20));
  CHECK(!is_poisoned(slab) && !is_poisoned(slab + (1 << 20) - 1) && is_poisoned(slab + (1 << 20)));
  tbq::recycle_slab(slab, 1 << 20);
  CHECK(is_poisoned(slab) && is_poisoned(slab + 5000));
  // A block of a pool: on both sides, and after it was returned.
  tbq::Pool pool;
  tbq::Pool::Block block = pool.acquire(tbq::Pool::kSmallest);
  uint8_t* data = block.data;
  CHECK(!is_poisoned(data) && is_poisoned(data - 1) && is_poisoned(data + block.bytes()));
  pool.give_back(std::move(block));
  block = {};
  CHECK(is_poisoned(data));
  // A value in an arena.
  tbq::Arena arena;
  const uint8_t* value = arena.copy(reinterpret_cast<const uint8_t*>("value"), 5);
  CHECK(!is_poisoned(value + 4) && is_poisoned(value + 5));
  // The buffer of a reader, past the end of the file.
  const tbq::MemoryFile memory("twelve bytes");
  tbq::File file;
  CHECK(file.open(memory.path()) == 0);
  tbq::BlockReader reader;
  reader.reset(&file, file.size());
  const uint8_t* window = reader.view(0, 12);
  CHECK(!is_poisoned(window + 11) && is_poisoned(window + 12));
}
#endif
