// Columns of numbers as events.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "write/event_buffer.hpp"

namespace tbq {

// One event per row, with one scalar per present cell.
struct EventColumns {
  std::span<const int64_t> steps;
  std::span<const double> wall_times;
  std::vector<std::string_view> tags;
  std::vector<std::span<const double>> values;    // one column per tag
  std::vector<std::span<const uint8_t>> present;  // 0 for a cell without a value

  bool is_rectangular() const;
};

void append_columns(const EventColumns& columns, ScalarStyle style, EventBuffer& out);

// Single values, each with its own tag; one event per value.
struct Rows {
  std::vector<std::string_view> tags;
  std::span<const int32_t> codes;  // of the tag of each value
  std::span<const int64_t> steps;
  std::span<const double> wall_times;
  std::span<const double> values;

  bool is_sound() const;
};

void append_rows(const Rows& rows, ScalarStyle style, EventBuffer& out);

}  // namespace tbq
