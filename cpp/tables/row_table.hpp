// Exports reports as a table, row by row, with the names of the columns beside their values.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "tables/builders.hpp"

namespace tbq {

// Columns by name, filled row by row in the same order.
class RowTable {
 public:
  void begin() { next_ = 0; }
  template <class T>
    requires std::integral<T> || std::is_enum_v<T>
  void put(const char* name, T value) {
    column<FixedBuilder<int64_t>>(name).append(static_cast<int64_t>(value));
  }
  void put(const char* name, std::optional<double> value) {
    auto& numbers = column<FixedBuilder<double>>(name);
    value ? numbers.append(*value) : numbers.append_null();
  }
  void put(const char* name, std::string_view text) { column<BytesBuilder>(name, "U").append(text); }
  void finish(size_t rows, ArrowArrayStream* out) {
    Batch batch;
    batch.length = static_cast<int64_t>(rows);
    for (Slot& slot : slots_) {
      batch.columns.push_back(slot.builder->finish(slot.name));
      batch.columns.back().length = batch.length;
    }
    export_batch(std::move(batch), out);
  }

 private:
  struct Slot {
    const char* name;
    std::unique_ptr<ColumnBuilder> builder;
  };
  template <class Builder, class... Arguments>
  Builder& column(const char* name, Arguments... arguments) {
    if (next_ == slots_.size()) slots_.push_back({name, std::make_unique<Builder>(arguments...)});
    return static_cast<Builder&>(*slots_[next_++].builder);
  }
  std::vector<Slot> slots_;
  size_t next_ = 0;
};

// An empty table has columns too. The first row creates them, so without reports, add a row and cut it off.
template <class Report, class Fill>
void export_rows(const std::vector<Report>& reports, Fill&& fill, ArrowArrayStream* out) {
  RowTable rows;
  for (const Report& report : reports) {
    rows.begin();
    fill(rows, report);
  }
  if (reports.empty()) fill(rows, Report{});
  rows.finish(reports.size(), out);
}

}  // namespace tbq
