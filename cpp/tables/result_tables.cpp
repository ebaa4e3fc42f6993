// The tables of series (everything seen of each run, tag and kind, stored or not), files, sessions and
// segments. Their rows have the order of the Result.
#include "tables/result_tables.hpp"

#include "bytes/names.hpp"
#include "bytes/utf8.hpp"
#include "event/dtype.hpp"
#include "tables/builders.hpp"
#include "tables/row_table.hpp"

namespace tbq {

void export_series(const Result& result, const std::vector<std::string>& runs, ArrowArrayStream* out) {
  std::vector<int32_t> run_codes;
  BytesBuilder tag("U"), kind("U"), plugin("U"), dtype("U"), display_name("U"), description("U");
  FixedBuilder<int64_t> count, rows, dropped, dropped_first, dropped_last, rounded, refused;
  FixedBuilder<int64_t> first_step, last_step, min_step, max_step;
  FixedBuilder<double> first_wall_time, last_wall_time, last_value, pause;
  BoolBuilder selected;
  const auto as_int64 = [](uint64_t value) { return static_cast<int64_t>(value); };
  const auto text = [](BytesBuilder& column, std::string_view value) {
    if (value.empty()) {
      column.append_null();
    } else {
      column.append(valid_utf8(value));
    }
  };
  for (const SeriesReport& report : result.series) {
    run_codes.push_back(static_cast<int32_t>(report.run));
    tag.append(tbq::display_name(report.tag));
    kind.append(kind_name(report.kind));
    text(plugin, report.metadata.plugin);
    // A v1 scalar is a float32 by its field.
    text(dtype, report.kind == Kind::scalars && report.dtype == 0 ? "float32" : dtype_name(report.dtype));
    text(display_name, report.metadata.display_name);
    text(description, report.metadata.description);
    selected.append(report.selected);
    count.append(as_int64(report.seen.steps.count));
    rows.append(as_int64(report.rows));
    dropped.append(as_int64(report.dropped.count));
    dropped_first.append(report.dropped.min);
    dropped_last.append(report.dropped.max);
    rounded.append(as_int64(report.rounded));
    refused.append(as_int64(report.refused));
    first_step.append(report.seen.steps.first);
    last_step.append(report.seen.steps.last);
    min_step.append(report.seen.steps.min);
    max_step.append(report.seen.steps.max);
    first_wall_time.append(report.seen.first_wall_time);
    last_wall_time.append(report.seen.last_wall_time);
    last_value.append(report.last_value);
    pause.append(report.pause);
  }
  Batch batch;
  batch.length = static_cast<int64_t>(result.series.size());
  batch.columns.push_back(
      dictionary_column("run", Buffer::of(std::move(run_codes)), batch.length, string_dictionary(runs)));
  batch.columns.push_back(tag.finish("tag"));
  batch.columns.push_back(kind.finish("kind"));
  batch.columns.push_back(plugin.finish("plugin"));
  batch.columns.push_back(dtype.finish("dtype"));
  batch.columns.push_back(count.finish("count"));
  batch.columns.push_back(first_step.finish("first_step"));
  batch.columns.push_back(last_step.finish("last_step"));
  batch.columns.push_back(min_step.finish("min_step"));
  batch.columns.push_back(max_step.finish("max_step"));
  batch.columns.push_back(first_wall_time.finish("first_wall_time"));
  batch.columns.push_back(last_wall_time.finish("last_wall_time"));
  batch.columns.push_back(display_name.finish("display_name"));
  batch.columns.push_back(description.finish("description"));
  batch.columns.push_back(selected.finish("selected"));
  batch.columns.push_back(rows.finish("rows"));
  batch.columns.push_back(dropped.finish("dropped"));
  batch.columns.push_back(dropped_first.finish("dropped_first"));
  batch.columns.push_back(dropped_last.finish("dropped_last"));
  batch.columns.push_back(rounded.finish("rounded"));
  batch.columns.push_back(refused.finish("refused"));
  batch.columns.push_back(last_value.finish("last_value"));
  batch.columns.push_back(pause.finish("pause"));
  export_batch(std::move(batch), out);
}

void export_files(const Result& result, ArrowArrayStream* out) {
  export_rows(
      result.files,
      [](RowTable& rows, const FileReport& report) {
        rows.put("run", report.run);
        rows.put("state", report.state);
        rows.put("error", report.error);
        rows.put("compressed", report.compressed);
        rows.put("bytes", report.bytes);
        rows.put("resume", report.resume);
        rows.put("records", report.records);
        rows.put("values", report.steps.count);
        rows.put("truncated", report.truncated);
        rows.put("faults", report.faults.size() + report.more_faults);
        rows.put("sessions", report.sessions);
        rows.put("timed", report.times.known);
        rows.put("first_wall_time", report.times.start());
        rows.put("last_wall_time", report.times.end);
        rows.put("versioned", !report.file_version.empty());
      },
      out);
}

void export_sessions(const Result& result, ArrowArrayStream* out) {
  export_rows(
      result.sessions,
      [](RowTable& rows, const SessionReport& report) {
        rows.put("run", report.run);
        rows.put("file", report.file);
        rows.put("offset", report.offset);
        rows.put("begin", report.times.begin);
        rows.put("end", report.times.end);
        rows.put("timed", report.times.known);
        rows.put("has_start", report.start.known);
        rows.put("start_step", report.start.step);
        rows.put("records", report.records);
        rows.put("values", report.steps.count);
        rows.put("first_step", report.steps.first);
        rows.put("last_step", report.steps.last);
        rows.put("max_step", report.steps.max);
      },
      out);
}

void export_segments(const Result& result, ArrowArrayStream* out) {
  export_rows(
      result.segments,
      [](RowTable& rows, const SegmentReport& report) {
        rows.put("series", report.series);
        rows.put("session", report.session);
        rows.put("count", report.seen.steps.count);
        rows.put("first_step", report.seen.steps.first);
        rows.put("last_step", report.seen.steps.last);
        rows.put("min_step", report.seen.steps.min);
        rows.put("max_step", report.seen.steps.max);
        rows.put("first_wall_time", report.seen.first_wall_time);
        rows.put("last_wall_time", report.seen.last_wall_time);
        rows.put("limit", report.limit);
      },
      out);
}

}  // namespace tbq
