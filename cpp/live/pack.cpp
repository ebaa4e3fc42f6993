#include "live/pack.hpp"

#include <cstring>

namespace tbq {
namespace {

// Whether a chunk lies in more memory than it needs, or keeps that of others.
bool is_loose(const ScalarChunk& chunk) {
  return chunk.rows > 0 && (chunk.block.rows < Pool::kLargest || chunk.rows < Pool::kLargest / 32 * 31);
}

size_t bytes_of(const ScalarChunk& chunk) {
  return chunk.block.columns * Pool::stride(chunk.rows) * sizeof(double);
}

std::shared_ptr<void> memory_of(size_t bytes, Pool* kept, uint8_t*& at) {
  if (kept) {
    Pool::Block block = kept->raw(bytes);
    at = block.data;
    return std::move(block.slab);
  }
  std::shared_ptr<void> memory(::operator new(bytes), [](void* data) { ::operator delete(data); });
  at = static_cast<uint8_t*>(memory.get());
  return memory;
}

}  // namespace

void pack(Part& part, Pool& pool, Pool* kept) {
  for (const auto& entry : part.tags.all) {  // nothing is recognised by these any more
    entry->scalar_template = {};
    entry->blob_template.reset();
  }
  size_t bytes = 0;
  for (const auto& entry : part.tags.all) {
    for (const ScalarChunk& chunk : entry->scalars.chunks) bytes += is_loose(chunk) ? bytes_of(chunk) : 0;
  }
  if (bytes == 0) return;
  uint8_t* at = nullptr;
  const std::shared_ptr<void> memory = memory_of(bytes, kept, at);
  for (const auto& entry : part.tags.all) {
    for (ScalarChunk& chunk : entry->scalars.chunks) {
      if (!is_loose(chunk)) continue;
      ScalarChunk packed;
      packed.rows = chunk.rows;
      packed.block.slab = memory;
      packed.block.data = at;
      packed.block.rows = chunk.rows;
      packed.block.columns = chunk.block.columns;
      packed.block.handed = true;  // it is of no size that the pool has
      at += bytes_of(chunk);
      std::memcpy(packed.steps(), chunk.steps(), chunk.rows * sizeof(int64_t));
      if (chunk.has_walls()) std::memcpy(packed.walls(), chunk.walls(), chunk.rows * sizeof(double));
      std::memcpy(packed.values(), chunk.values(), chunk.rows * sizeof(double));
      std::swap(chunk.block, packed.block);
      pool.give_back(std::move(packed.block));
    }
  }
}

}  // namespace tbq
