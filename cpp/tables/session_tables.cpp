// Fills the tables of files, sessions and segments: numbers only, one row each, in the order of the Result.
#include "tables/session_tables.hpp"

#include "tables/row_table.hpp"

namespace tbq {

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
        rows.put("first_wall_time", report.seen.first_wall);
        rows.put("last_wall_time", report.seen.last_wall);
        rows.put("limit", report.limit);
      },
      out);
}

}  // namespace tbq
