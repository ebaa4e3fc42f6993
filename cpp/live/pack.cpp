// Packs the memory of a decoded part.
#include "live/pack.hpp"

#include <cstring>
#include <map>
#include <tuple>

namespace tbq {
namespace {

// Whether a chunk uses more memory than it needs, or pins the memory of others.
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

// Finds equal steps: tags that are logged together have the same steps, which are stored once.
class KnownSteps {
 public:
  // An earlier chunk with the same steps. If there is none, returns null and remembers this chunk.
  ScalarChunk* find(ScalarChunk& chunk) {
    ScalarChunk*& known = known_[{chunk.rows, chunk.steps()[0], chunk.steps()[chunk.rows - 1]}];
    if (known && std::memcmp(known->steps(), chunk.steps(), chunk.rows * sizeof(int64_t)) == 0) return known;
    known = &chunk;
    return nullptr;
  }

 private:
  using Key = std::tuple<uint32_t, int64_t, int64_t>;  // number of steps, the first, the last
  std::map<Key, ScalarChunk*> known_;
};

// A chunk to be moved.
struct Move {
  ScalarChunk* from = nullptr;
  ScalarChunk* same_steps = nullptr;  // an earlier chunk with the same steps
};

std::shared_ptr<int64_t> steps_of(const ScalarChunk& chunk) {
  return chunk.shared_steps ? chunk.shared_steps : std::shared_ptr<int64_t>(chunk.block.slab, chunk.steps());
}

}  // namespace

void pack(Part& part, Pool& pool, Pool* kept) {
  std::vector<Move> moves;
  moves.reserve(part.tags.all.size());
  KnownSteps known;
  size_t bytes = 0;
  for (const auto& entry : part.tags.all) {
    entry->forget_templates();  // no further event is matched against the templates
    for (ScalarChunk& chunk : entry->scalars.chunks) {
      if (chunk.rows == 0) continue;
      ScalarChunk* const same_steps = known.find(chunk);
      if (!is_loose(chunk)) {
        if (same_steps) {
          chunk.shared_steps = steps_of(*same_steps);
          same_steps->block.handed = true;
          discard_pages(chunk.block.data, Pool::stride(chunk.block.rows) * sizeof(int64_t));
        }
        continue;
      }
      moves.push_back({&chunk, same_steps});
      bytes += bytes_of(chunk);
      if (same_steps) bytes -= Pool::stride(chunk.rows) * sizeof(int64_t);
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
    packed.block.handed = true;  // its size is none of the pool's, so the pool must not reuse it
    if (move.same_steps) {
      --packed.block.columns;
      packed.lacks_steps = true;
      packed.shared_steps = steps_of(*move.same_steps);
    } else {
      std::memcpy(packed.steps(), from.steps(), from.rows * sizeof(int64_t));
    }
    at += bytes_of(packed);
    if (from.has_wall_times())
      std::memcpy(packed.wall_times(), from.wall_times(), from.rows * sizeof(double));
    std::memcpy(packed.values(), from.values(), from.rows * sizeof(double));
    std::swap(from, packed);
    pool.give_back(std::move(packed.block));
  }
}

}  // namespace tbq
