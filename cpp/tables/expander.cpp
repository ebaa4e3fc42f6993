// Fills the key columns and reports problems with values.
#include "tables/expander.hpp"

#include "bytes/utf8.hpp"

namespace tbq {

// Appends nulls to the columns that have fewer rows.
void Expander::fill_up(size_t rows) {
  for (const auto& [name, builder] : columns_) {
    if (builder->rows() < rows && wants(name)) builder->append_nulls(rows - builder->rows());
  }
}

void Expander::finish(Batch& batch) {
  fill_up(static_cast<size_t>(batch.length));
  for (const auto& [name, builder] : columns_) batch.columns.push_back(builder->finish(name));
}

void Expander::add_keys(const Value& value, size_t rows) {
  fill_up(steps_.size());
  run_codes_.fill(value.run, rows);
  tag_codes_.fill(value.tag, rows);
  steps_.fill(value.row->step, rows);
  wall_times_.fill(value.row->wall_time, rows);
  if (numbered_) numbers_of_values_.fill(value.number, rows);
}

void Expander::add_keys(std::span<const BlobRow> rows, int32_t run, int32_t tag) {
  run_codes_.fill(run, rows.size());
  tag_codes_.fill(tag, rows.size());
  int64_t* steps = steps_.extend(rows.size());
  double* wall_times = wall_times_.extend(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    steps[i] = rows[i].step;
    wall_times[i] = rows[i].wall_time;
  }
}

void Expander::reserve_keys(uint64_t rows) {
  run_codes_.reserve(static_cast<size_t>(rows));
  tag_codes_.reserve(static_cast<size_t>(rows));
  steps_.reserve(static_cast<size_t>(rows));
  wall_times_.reserve(static_cast<size_t>(rows));
}

void Expander::finish_keys(Batch& batch, const std::shared_ptr<const Column>& runs,
                           const std::shared_ptr<const Column>& tags) {
  const auto rows = static_cast<int64_t>(steps_.size());
  const auto plain = [&](const char* name, const char* format, Buffer values) {
    Column column;
    column.name = std::string(name);
    column.format = std::string(format);
    column.length = rows;
    column.buffers = {Buffer{}, std::move(values)};
    batch.columns.push_back(std::move(column));
  };
  batch.columns.push_back(dictionary_column("run", Buffer::of(std::move(run_codes_)), rows, runs));
  batch.columns.push_back(dictionary_column("tag", Buffer::of(std::move(tag_codes_)), rows, tags));
  plain("step", "l", Buffer::of(std::move(steps_)));
  plain("wall_time", "g", Buffer::of(std::move(wall_times_)));
  if (numbered_) plain(kNumberColumn, "l", Buffer::of(std::move(numbers_of_values_)));
}

void Expander::report(const Value& value, const char* code, std::string message) {
  problems_.add({code, value.row->run, value.series->tag, value.row->step, value.row->file, value.row->record,
                 std::move(message)});
}

void Expander::append_repeated(const Value& value, TextBuilder& column, std::string_view text) {
  const std::string_view valid = utf8(value, text);
  if (valid.size() > budget_.left)
    return report(value, "too_large", "a long text on many rows was omitted from some of them");
  budget_.left -= valid.size();
  column.append_or_null(valid);
}

std::string_view Expander::utf8(const Value& value, std::string_view text) {
  if (is_valid_utf8(text)) return text;
  report(value, "invalid_utf8", "the text is not valid UTF-8; invalid bytes were replaced by U+FFFD");
  repaired_ = valid_utf8(text);
  return repaired_;
}

}  // namespace tbq
