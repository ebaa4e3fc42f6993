// Names and counts the contents of a result.
#include "decode/result.hpp"

#include <algorithm>
#include <utility>

#include "bytes/names.hpp"

namespace tbq {

const char* file_state_name(FileState state) {
  static constexpr const char* names[] = {"events", "empty", "unreadable", "git_lfs", "not_events"};
  return names[static_cast<size_t>(state)];
}

uint64_t Result::scalar_rows() const {
  uint64_t rows = 0;
  for (const ScalarBatch& batch : scalars) rows += batch.rows;
  return rows;
}

bool Result::take_scalars(std::vector<ScalarBatch>& out) {
  if (std::exchange(scalars_taken, true)) return false;
  out = std::exchange(scalars, {});
  return true;
}

std::vector<std::string> Result::tags(Kind kind) const {
  std::vector<std::string> names;
  for (const SeriesReport& report : series) {
    if (report.kind == kind) names.push_back(display_name(report.tag));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace tbq
