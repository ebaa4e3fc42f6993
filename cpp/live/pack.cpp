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

// A chunk that moves. Tags that are logged together have the same steps, which are kept once.
struct Move {
  ScalarChunk* from = nullptr;
  size_t same_steps = SIZE_MAX;  // as an earlier one, which has steps of its own
};

// The last few columns of steps that differ.
class SeenSteps {
 public:
  // The move that has the same steps; if there is none, SIZE_MAX, and it becomes one of those that are known.
  size_t find(const std::vector<Move>& moves, const ScalarChunk& chunk, size_t move) {
    for (const size_t known : known_) {
      if (known != SIZE_MAX && same(*moves[known].from, chunk)) return known;
    }
    known_[next_++ % kMost] = move;
    return SIZE_MAX;
  }

 private:
  static bool same(const ScalarChunk& a, const ScalarChunk& b) {
    return a.rows == b.rows && a.steps()[a.rows - 1] == b.steps()[a.rows - 1] &&
           std::memcmp(a.steps(), b.steps(), a.rows * sizeof(int64_t)) == 0;
  }
  static constexpr size_t kMost = 4;
  size_t known_[kMost] = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};
  size_t next_ = 0;
};

}  // namespace

void pack(Part& part, Pool& pool, Pool* kept) {
  std::vector<Move> moves;
  moves.reserve(part.tags.all.size());
  SeenSteps seen;
  size_t bytes = 0;
  for (const auto& entry : part.tags.all) {
    entry->forget_templates();  // nothing is recognised by these any more
    for (ScalarChunk& chunk : entry->scalars.chunks) {
      if (!is_loose(chunk)) continue;
      const size_t same_steps = seen.find(moves, chunk, moves.size());
      moves.push_back({&chunk, same_steps});
      bytes += bytes_of(chunk);
      if (same_steps != SIZE_MAX) bytes -= Pool::stride(chunk.rows) * sizeof(int64_t);
    }
  }
  if (bytes == 0) return;
  uint8_t* at = nullptr;
  const std::shared_ptr<void> memory = memory_of(bytes, kept, at);
  for (const Move& move : moves) {
    ScalarChunk& from = *move.from;
    ScalarChunk packed;
    packed.rows = from.rows;
    packed.block.slab = memory;
    packed.block.data = at;
    packed.block.rows = from.rows;
    packed.block.columns = from.block.columns;
    packed.block.handed = true;  // it is of no size that the pool has
    if (move.same_steps != SIZE_MAX) {
      --packed.block.columns;
      packed.shared_steps = moves[move.same_steps].from->steps();
    } else {
      std::memcpy(packed.steps(), from.steps(), from.rows * sizeof(int64_t));
    }
    at += bytes_of(packed);
    if (from.has_walls()) std::memcpy(packed.walls(), from.walls(), from.rows * sizeof(double));
    std::memcpy(packed.values(), from.values(), from.rows * sizeof(double));
    std::swap(from, packed);
    pool.give_back(std::move(packed.block));
  }
}

}  // namespace tbq
