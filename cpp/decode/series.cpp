// Slabs, growth of columns, and the arena.
#include "decode/series.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "io/slab.hpp"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace tbq {
namespace {

constexpr size_t kLargePage = size_t{2} << 20;
constexpr size_t kLargestSlab = size_t{32} << 20;

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

namespace {

size_t size_class(uint32_t rows) {
  size_t index = 0;
  for (uint32_t size = Pool::kSmallest; size < rows; size *= 4) ++index;
  return index;
}

}  // namespace

uint8_t* Pool::carve(size_t bytes) {
  bytes = (bytes + 63) / 64 * 64;
  if (bytes > left_) {
    const size_t size = (std::max(bytes, next_slab_) + 63) / 64 * 64;
    slab_ = make_slab(size);
    at_ = static_cast<uint8_t*>(slab_.get());
    left_ = size;
    next_slab_ = std::min(next_slab_ * 2, kLargestSlab);
  }
  uint8_t* data = at_;
  at_ += bytes;
  left_ -= bytes;
  return data;
}

Pool::Block Pool::take(uint32_t rows) {
  auto& free = free_[size_class(rows)];
  if (!free.empty()) {
    Block block = std::move(free.back());
    free.pop_back();
    return block;
  }
  uint8_t* data = carve(columns_ * stride(rows) * sizeof(double));
  return {slab_, data, rows, columns_, false};
}

Pool::Block Pool::first() {
  constexpr size_t kMostFirst = 4096;  // 24 MB of them
  if (!free_[size_class(kFirst)].empty()) return take(kFirst);
  return take(++firsts_ > kMostFirst ? kSmallest : kFirst);
}

void Pool::give_back(Block&& block) {
  if (block.data && !block.handed) free_[size_class(block.rows)].push_back(std::move(block));
}

Pool::Block Pool::raw(size_t bytes) {
  uint8_t* data = carve(bytes);
  return {slab_, data, 0, 0, false};
}

void Segments::note_unusual(uint32_t session, uint64_t stored, int64_t step, double wall) {
  if (session != session_) {
    finish(stored);
    Segment segment;
    segment.session = session_ = session;
    segment.begin = segment.end = stored;
    all.push_back(segment);
    open_ = &all.back();
  }
  open_->seen.add(step, wall);
}

void ScalarSeries::measure() {
  for (Segment& segment : segments.all) {
    Span& seen = segment.seen;
    seen.count = segment.end - segment.begin;
    uint64_t first = 0;
    for (const ScalarChunk& chunk : chunks) {
      const uint64_t low = std::max(segment.begin, first);
      const uint64_t high = std::min(segment.end, first + chunk.rows);
      if (low < high) {
        const int64_t* steps = chunk.steps() + (low - first);
        const double* walls = chunk.walls() + (low - first);
        const uint64_t rows = high - low;
        if (low == segment.begin) {
          seen.first_step = seen.min_step = seen.max_step = steps[0];
          if (chunk.has_walls()) seen.first_wall = walls[0];
        }
        int64_t least = seen.min_step;
        int64_t most = seen.max_step;
        for (uint64_t i = 0; i < rows; ++i) {
          least = std::min(least, steps[i]);
          most = std::max(most, steps[i]);
        }
        seen.min_step = least;
        seen.max_step = most;
        seen.last_step = steps[rows - 1];
        if (chunk.has_walls()) seen.last_wall = walls[rows - 1];
      }
      first += chunk.rows;
      if (first >= segment.end) break;
    }
  }
}

// Small chunks grow by copying, so that a short series stays in one piece; large ones are followed by
// another.
void ScalarSeries::grow(Pool& pool) {
  const bool copying = !chunks.empty() && capacity * 4 < Pool::kLargest;
  ScalarChunk chunk;
  chunk.block = chunks.empty() ? pool.first() : pool.take(copying ? capacity * 4 : Pool::kLargest);
  const uint32_t rows = chunk.block.rows;
  if (copying) {
    ScalarChunk& old = chunks.back();
    std::memcpy(chunk.steps(), old.steps(), size * sizeof(int64_t));
    if (chunk.has_walls()) std::memcpy(chunk.walls(), old.walls(), size * sizeof(double));
    std::memcpy(chunk.values(), old.values(), size * sizeof(double));
    pool.give_back(std::move(old.block));
    old = std::move(chunk);
  } else {
    if (!chunks.empty()) chunks.back().rows = size;
    before += size;
    size = 0;
    chunks.push_back(std::move(chunk));
  }
  capacity = rows;
  step_at = chunks.back().steps();
  wall_at = chunks.back().walls();
  value_at = chunks.back().values();
}

void ScalarSeries::release(Pool& pool) {
  for (ScalarChunk& chunk : chunks) pool.give_back(std::move(chunk.block));
  chunks.clear();
  size = capacity = 0;
  before = 0;
}

void BlobRows::grow(Pool& pool) {
  Pool::Block block;
  if (blocks_.empty()) {
    block = pool.take(Pool::kSmallest);
  } else {
    const uint32_t rows = blocks_.back().rows;
    block = pool.take(std::min(rows * 4, Pool::kLargest));
    if (rows < Pool::kLargest) {
      std::memcpy(block.data, blocks_.back().data, used_ * sizeof(BlobRow));
      pool.give_back(std::move(blocks_.back()));
      blocks_.pop_back();
    } else {
      before_ += used_;
      used_ = 0;
    }
  }
  rows_ = reinterpret_cast<BlobRow*>(block.data);
  capacity_ = capacity(block);
  blocks_.push_back(std::move(block));
}

void BlobRows::release(Pool& pool) {
  for (Pool::Block& block : blocks_) pool.give_back(std::move(block));
  *this = {};
}

uint8_t* Arena::block(size_t bytes) {
  if (bytes >= kSlab) {
    blocks_.push_back(make_slab(bytes));
  } else {
    blocks_.push_back({::operator new(bytes), [](void* held) { ::operator delete(held); }});
  }
  return static_cast<uint8_t*>(blocks_.back().get());
}

const uint8_t* Arena::copy(const uint8_t* data, size_t size) {
  if (size > left_) {
    if (size > next_) {  // a large value has a block of its own, and the current one stays in use
      uint8_t* own = block(size);
      size_ += size;
      std::memcpy(own, data, size);
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

void Template::learn(Bytes bytes, size_t slot, uint32_t width) {
  size_ = bytes.size();
  slot_ = static_cast<uint32_t>(slot);
  width_ = width;
  blocks_.assign((size_ + 15) / 16, {});
  for (size_t at = 0; at < size_; ++at) {
    if (at >= slot && at < slot + width) continue;
    const size_t back = size_ - 1 - at;
    Block& block = blocks_[back / 16];
    const size_t place = 15 - back % 16;
    block.want[place / 8] |= uint64_t{bytes[at]} << (8 * (place % 8));
    block.mask[place / 8] |= uint64_t{0xff} << (8 * (place % 8));
  }
}

TagEntry& TagTable::add(std::string_view tag) {
  auto entry = std::make_unique<TagEntry>();
  entry->tag = tag;
  entry->next = entry.get();
  all.push_back(std::move(entry));
  TagEntry& added = *all.back();
  by_name_.emplace(std::string_view(added.tag), &added);
  return added;
}

}  // namespace tbq
