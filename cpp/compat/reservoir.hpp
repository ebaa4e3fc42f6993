// The rows of one tag of which at most so many are kept: TensorBoard's reservoir, with the same survivors.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "compat/python_random.hpp"

namespace tbq {

// How many rows of each tag are kept; 0 keeps all.
struct ReservoirSize {
  uint64_t most = 0;
  bool keep_last = true;  // the row that came last is always kept
};

// A Row has a `step`.
template <class Row>
class Reservoir {
 public:
  explicit Reservoir(ReservoirSize size) : size_(size) {}

  void add(Row row) {
    if (size_.most == 0 || rows_.size() < size_.most) {
      rows_.push_back(std::move(row));
    } else {
      if (!random_) random_ = std::make_unique<PythonRandom>(0);
      const uint64_t drawn = random_->below(seen_ + 1);
      if (drawn < size_.most) {
        rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(drawn));
        rows_.push_back(std::move(row));
      } else if (size_.keep_last) {
        rows_.back() = std::move(row);
      }
    }
    ++seen_;
  }

  // Drops the rows from `step` on; returns how many. How many were seen is scaled as TensorBoard scales it.
  size_t purge(int64_t step) {
    const size_t before = rows_.size();
    std::erase_if(rows_, [step](const Row& row) { return row.step >= step; });
    const double left = before > 0 ? static_cast<double>(rows_.size()) / static_cast<double>(before) : 0.0;
    seen_ = static_cast<uint64_t>(std::nearbyint(static_cast<double>(seen_) * left));
    return before - rows_.size();
  }

  const std::vector<Row>& rows() const { return rows_; }

 private:
  ReservoirSize size_;
  std::vector<Row> rows_;
  uint64_t seen_ = 0;
  std::unique_ptr<PythonRandom> random_;  // as soon as a number is drawn
};

}  // namespace tbq
