// The rows of one tag, limited in number: TensorBoard's reservoir, which keeps the same rows.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "compat/python_random.hpp"
#include "compat/row_memory.hpp"

namespace tbq {

// The most rows to keep per tag; 0 keeps all.
struct ReservoirSize {
  uint64_t most = 0;
  bool keep_last = true;  // always keep the last row
};

// Rows in chunks, so that growing moves nothing. The chunks of different tags begin at different offsets in a
// page: otherwise, twenty chunks that grow together would compete for one set of the cache.
template <class Row>
class ChunkedRows {
 public:
  // Adding rows needs `memory`; rows already added do not.
  explicit ChunkedRows(RowMemory& memory) : memory_(&memory) {}
  ChunkedRows(const ChunkedRows& other) : memory_(other.memory_) {
    if (other.empty()) return;
    add_chunk(other.size() + kFirst);
    other.for_each([this](const Row& row) { push_back(row); });
  }
  ChunkedRows& operator=(const ChunkedRows&) = delete;
  ~ChunkedRows() { destroy(); }

  size_t size() const { return closed_ + static_cast<size_t>(at_ - begin_); }
  bool empty() const { return size() == 0; }
  void push_back(Row row) {
    if (at_ == end_) add_chunk(std::clamp(2 * static_cast<size_t>(end_ - begin_), kFirst, kLargest));
    new (at_) Row(std::move(row));
    ++at_;
  }
  Row& back() { return at_[-1]; }  // valid after push_back()
  const Row& operator[](size_t index) const {
    size_t chunk = 0;
    while (index >= count(chunk)) index -= count(chunk++);
    return chunks_[chunk].rows[index];
  }
  template <class Take>
  void for_each(Take&& take) const {
    for (size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      std::for_each_n(chunks_[chunk].rows, count(chunk), take);
    }
  }
  void copy_to(void* out) const {
    static_assert(std::is_trivially_copyable_v<Row>);
    for (size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      const size_t bytes = count(chunk) * sizeof(Row);
      if (bytes > 0) std::memcpy(out, chunks_[chunk].rows, bytes);
      out = static_cast<std::byte*>(out) + bytes;
    }
  }
  void erase_at(size_t index) {
    join();
    cut(std::move(begin_ + index + 1, at_, begin_ + index));
  }
  template <class Predicate>
  void erase_if(Predicate predicate) {
    join();
    cut(std::remove_if(begin_, at_, predicate));
  }

 private:
  static constexpr size_t kFirst = 768 / sizeof(Row);
  static constexpr size_t kLine = RowMemory::kAlignment;
  static constexpr size_t kPlaces = 61;
  // Five of the largest chunks fill a piece.
  static constexpr size_t kLargest = (RowMemory::kPiece / 5 - kPlaces * kLine) / sizeof(Row);
  struct Chunk {
    std::shared_ptr<std::byte> memory;
    Row* rows;
    size_t capacity;
  };

  // All chunks except the last are full.
  size_t count(size_t chunk) const {
    return chunk + 1 < chunks_.size() ? chunks_[chunk].capacity : static_cast<size_t>(at_ - begin_);
  }
  void add_chunk(size_t capacity) {
    const size_t skip = kLine * ((reinterpret_cast<uintptr_t>(this) / kLine + chunks_.size()) % kPlaces);
    std::shared_ptr<std::byte> memory = memory_->take(skip + capacity * sizeof(Row));
    Row* const rows = reinterpret_cast<Row*>(memory.get() + skip);
    chunks_.push_back({std::move(memory), rows, capacity});
    closed_ = size();
    begin_ = at_ = rows;
    end_ = rows + capacity;
  }
  // Drops the rows of the last chunk from `end` on.
  void cut(Row* end) {
    std::destroy(end, at_);
    at_ = end;
  }
  void destroy() {
    for (size_t chunk = 0; chunk < chunks_.size(); ++chunk) std::destroy_n(chunks_[chunk].rows, count(chunk));
  }
  // Joins all chunks into one.
  void join() {
    if (chunks_.size() <= 1) return;
    ChunkedRows all(*memory_);
    all.add_chunk(size() + kFirst);
    for (size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      all.at_ = std::uninitialized_move_n(chunks_[chunk].rows, count(chunk), all.at_).second;
    }
    std::swap(chunks_, all.chunks_);
    std::swap(begin_, all.begin_);
    std::swap(at_, all.at_);
    std::swap(end_, all.end_);
    std::swap(closed_, all.closed_);
  }

  RowMemory* memory_;
  std::vector<Chunk> chunks_;
  Row* begin_ = nullptr;  // start of the last chunk
  Row* at_ = nullptr;
  Row* end_ = nullptr;
  size_t closed_ = 0;  // rows in the chunks before the last
};

// A Row has a `step`.
template <class Row>
class Reservoir {
 public:
  using Rows = ChunkedRows<Row>;

  // `memory` must outlive the reservoir, but not the snapshots.
  Reservoir(ReservoirSize size, RowMemory& memory) : size_(size), rows_(std::make_shared<Rows>(memory)) {}

  void add(Row row) {
    if (size_.most == 0 || rows_->size() < size_.most) {
      own().push_back(std::move(row));
    } else {
      if (!random_) random_ = std::make_unique<PythonRandom>(0);
      const uint64_t drawn = random_->below(seen_ + 1);
      if (drawn < size_.most) {
        own().erase_at(static_cast<size_t>(drawn));
        own().push_back(std::move(row));
      } else if (size_.keep_last) {
        own().back() = std::move(row);
      }
    }
    ++seen_;
  }

  // Drops the rows from `step` on and returns their number. Scales the number of rows seen, as TensorBoard
  // does.
  size_t purge(int64_t step) {
    const size_t before = rows_->size();
    own().erase_if([step](const Row& row) { return row.step >= step; });
    const double left = before > 0 ? static_cast<double>(rows_->size()) / static_cast<double>(before) : 0.0;
    seen_ = static_cast<uint64_t>(std::nearbyint(static_cast<double>(seen_) * left));
    return before - rows_->size();
  }

  const Rows& rows() const { return *rows_; }
  // The current rows; later calls do not change them.
  std::shared_ptr<const Rows> snapshot() const { return rows_; }

 private:
  // The rows, for changing: copies them first if a snapshot shares them.
  Rows& own() {
    if constexpr (!std::is_trivially_copyable_v<Row>) {  // plain rows are handed out as copies
      if (rows_.use_count() > 1) rows_ = std::make_shared<Rows>(*rows_);
#if !defined(__SANITIZE_THREAD__)                           // ThreadSanitizer does not support fences
      std::atomic_thread_fence(std::memory_order_acquire);  // pairs with the release of the last snapshot
#endif
    }
    return *rows_;
  }

  ReservoirSize size_;
  std::shared_ptr<Rows> rows_;
  uint64_t seen_ = 0;
  std::unique_ptr<PythonRandom> random_;  // created when the first number is drawn
};

}  // namespace tbq
