// The rows of one tag of which at most so many are kept: TensorBoard's reservoir, with the same survivors.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "compat/python_random.hpp"

namespace tbq {

// How many rows of each tag are kept; 0 keeps all.
struct ReservoirSize {
  uint64_t most = 0;
  bool keep_last = true;  // the row that came last is always kept
};

// Rows of plain values in chunks, so that growing copies nothing. The chunks of different tags begin at
// different places of a page: twenty of them that grow together would else fight for one set of the cache.
template <class Row>
class PlainRows {
 public:
  PlainRows() = default;
  PlainRows(const PlainRows&) = delete;
  PlainRows& operator=(const PlainRows&) = delete;
  size_t size() const { return closed_ + static_cast<size_t>(at_ - begin_); }
  bool empty() const { return size() == 0; }
  void push_back(Row row) {
    if (at_ == end_) add_chunk(std::clamp(2 * static_cast<size_t>(end_ - begin_), kFirst, kLargest));
    *at_++ = row;
  }
  Row& back() { return at_[-1]; }  // after a push_back()
  const Row& operator[](size_t index) const {
    size_t chunk = 0;
    while (index >= count(chunk)) index -= count(chunk++);
    return chunks_[chunk].rows[index];
  }
  void copy_to(void* out, size_t most) const {
    for (size_t chunk = 0; chunk < chunks_.size() && most > 0; ++chunk) {
      const size_t taken = std::min(most, count(chunk));
      std::memcpy(out, chunks_[chunk].rows, taken * sizeof(Row));
      out = static_cast<std::byte*>(out) + taken * sizeof(Row);
      most -= taken;
    }
  }
  void erase_at(size_t index) {
    join();
    std::copy(begin_ + index + 1, at_, begin_ + index);
    --at_;
  }
  template <class Predicate>
  void erase_if(Predicate predicate) {
    join();
    at_ = std::remove_if(begin_, at_, predicate);
  }

 private:
  static constexpr size_t kFirst = 32;
  static constexpr size_t kLargest = 16384;
  static constexpr size_t kLine = 64;
  static constexpr size_t kPlaces = 61;
  struct Chunk {
    std::unique_ptr<std::byte[]> memory;
    Row* rows;
    size_t capacity;
  };

  // All chunks but the last are full, or have been cut to what they hold.
  size_t count(size_t chunk) const {
    return chunk + 1 < chunks_.size() ? chunks_[chunk].capacity : static_cast<size_t>(at_ - begin_);
  }
  void add_chunk(size_t capacity) {
    closed_ = size();
    const size_t skip = kLine * ((reinterpret_cast<uintptr_t>(this) / kLine + chunks_.size()) % kPlaces);
    std::unique_ptr<std::byte[]> memory(new std::byte[skip + capacity * sizeof(Row)]);
    Row* const rows = reinterpret_cast<Row*>(memory.get() + skip);
    chunks_.push_back({std::move(memory), rows, capacity});
    begin_ = at_ = rows;
    end_ = rows + capacity;
  }
  // Makes one chunk of all.
  void join() {
    if (chunks_.size() <= 1) return;
    const size_t all = size();
    std::vector<Chunk> before;
    const Row* const last = begin_;
    const size_t in_last = static_cast<size_t>(at_ - begin_);
    before.swap(chunks_);
    begin_ = at_ = end_ = nullptr;
    add_chunk(all + kFirst);
    closed_ = 0;
    for (const Chunk& chunk : before)
      at_ = std::copy_n(chunk.rows, chunk.rows == last ? in_last : chunk.capacity, at_);
  }

  std::vector<Chunk> chunks_;
  Row* begin_ = nullptr;  // of the last chunk
  Row* at_ = nullptr;
  Row* end_ = nullptr;
  size_t closed_ = 0;  // rows in the chunks before it
};

// Rows of any values, in chunks too.
template <class Row>
class OwningRows {
 public:
  size_t size() const { return closed_ + (chunks_.empty() ? 0 : chunks_.back().size()); }
  bool empty() const { return size() == 0; }
  void push_back(Row row) {
    if (chunks_.empty() || chunks_.back().size() == chunks_.back().capacity()) add_chunk();
    chunks_.back().push_back(std::move(row));
  }
  Row& back() { return chunks_.back().back(); }  // after a push_back()
  const Row& operator[](size_t index) const {
    size_t chunk = 0;
    while (index >= chunks_[chunk].size()) index -= chunks_[chunk++].size();
    return chunks_[chunk][index];
  }
  template <class Take>
  void for_each(Take&& take) const {
    for (const std::vector<Row>& chunk : chunks_) std::for_each(chunk.begin(), chunk.end(), take);
  }
  void erase_at(size_t index) {
    join();
    chunks_.front().erase(chunks_.front().begin() + static_cast<std::ptrdiff_t>(index));
  }
  template <class Predicate>
  void erase_if(Predicate predicate) {
    if (empty()) return;
    join();
    std::vector<Row>& rows = chunks_.front();
    rows.erase(std::remove_if(rows.begin(), rows.end(), predicate), rows.end());
  }

 private:
  static constexpr size_t kFirst = 8;
  static constexpr size_t kLargest = 8192;

  void add_chunk() {
    const size_t before = chunks_.empty() ? 0 : chunks_.back().capacity();
    closed_ = size();
    chunks_.emplace_back().reserve(std::clamp(2 * before, kFirst, kLargest));
  }
  // Makes one chunk of all.
  void join() {
    if (chunks_.size() <= 1) return;
    std::vector<Row> all;
    all.reserve(size() + kFirst);
    for (std::vector<Row>& chunk : chunks_) std::move(chunk.begin(), chunk.end(), std::back_inserter(all));
    chunks_.clear();
    chunks_.push_back(std::move(all));
    closed_ = 0;
  }

  std::vector<std::vector<Row>> chunks_;
  size_t closed_ = 0;  // rows in the chunks before the last
};

// A Row has a `step`.
template <class Row>
class Reservoir {
 public:
  using Rows = std::conditional_t<std::is_trivially_copyable_v<Row>, PlainRows<Row>, OwningRows<Row>>;

  explicit Reservoir(ReservoirSize size) : size_(size) {}

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

  // Drops the rows from `step` on; returns how many. How many were seen is scaled as TensorBoard scales it.
  size_t purge(int64_t step) {
    const size_t before = rows_->size();
    own().erase_if([step](const Row& row) { return row.step >= step; });
    const double left = before > 0 ? static_cast<double>(rows_->size()) / static_cast<double>(before) : 0.0;
    seen_ = static_cast<uint64_t>(std::nearbyint(static_cast<double>(seen_) * left));
    return before - rows_->size();
  }

  const Rows& rows() const { return *rows_; }
  // The rows as they are now; what comes later does not change them.
  std::shared_ptr<const Rows> snapshot() const { return rows_; }

 private:
  // The rows, to be changed: others may hold a snapshot of them.
  Rows& own() {
    if constexpr (std::is_copy_constructible_v<Rows>) {
      if (rows_.use_count() > 1) rows_ = std::make_shared<Rows>(*rows_);
#if !defined(__SANITIZE_THREAD__)                           // which does not know fences
      std::atomic_thread_fence(std::memory_order_acquire);  // with the one who gave the last snapshot up
#endif
    }
    return *rows_;
  }

  ReservoirSize size_;
  std::shared_ptr<Rows> rows_ = std::make_shared<Rows>();
  uint64_t seen_ = 0;
  std::unique_ptr<PythonRandom> random_;  // as soon as a number is drawn
};

}  // namespace tbq
