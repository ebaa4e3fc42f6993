// Rows of columns as events: one event per row, with one scalar per present cell.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "write/event_buffer.hpp"

namespace tbq {

struct Columns {
  std::span<const int64_t> steps;
  std::span<const double> wall_times;
  std::vector<std::string_view> tags;
  std::vector<std::span<const double>> values;    // one column per tag
  std::vector<std::span<const uint8_t>> present;  // 0 for a cell without a value

  bool is_rectangular() const;
};

void append_columns(const Columns& columns, EventBuffer& out);

}  // namespace tbq
