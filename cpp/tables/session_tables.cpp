// Fills the tables of files, sessions and segments: numbers only, one row each, in the order of the Result.
#include "tables/session_tables.hpp"

#include "tables/builders.hpp"

namespace tbq {
namespace {

int64_t as_int64(uint64_t value) { return static_cast<int64_t>(value); }

// Columns by name, filled row by row in the same order.
class Rows {
 public:
  void begin() { next_ = 0; }
  void put(const char* name, int64_t value) { column(name).integers.append(value); }
  void put(const char* name, double value) {
    Slot& slot = column(name);
    slot.real = true;
    slot.numbers.append(value);
  }
  void finish(size_t rows, ArrowArrayStream* out) {
    Batch batch;
    batch.length = static_cast<int64_t>(rows);
    for (Slot& slot : slots_) {
      batch.columns.push_back(slot.real ? slot.numbers.finish(slot.name) : slot.integers.finish(slot.name));
      batch.columns.back().length = batch.length;
    }
    export_batch(std::move(batch), out);
  }

 private:
  struct Slot {
    const char* name = "";
    bool real = false;
    FixedBuilder<int64_t> integers;
    FixedBuilder<double> numbers;
  };
  Slot& column(const char* name) {
    if (next_ == slots_.size()) {
      slots_.emplace_back();
      slots_.back().name = name;
    }
    return slots_[next_++];
  }
  std::vector<Slot> slots_;
  size_t next_ = 0;
};

// An empty table has its columns too: the first row creates them, so make one row and cut it off.
template <class Report, class Fill>
void export_rows(const std::vector<Report>& reports, Fill&& fill, ArrowArrayStream* out) {
  Rows rows;
  for (const Report& report : reports) {
    rows.begin();
    fill(rows, report);
  }
  if (reports.empty()) {
    rows.begin();
    fill(rows, Report{});
  }
  rows.finish(reports.size(), out);
}

}  // namespace

void export_files(const Result& result, ArrowArrayStream* out) {
  export_rows(
      result.files,
      [](Rows& rows, const FileReport& report) {
        rows.put("run", int64_t{report.run});
        rows.put("state", static_cast<int64_t>(report.state));
        rows.put("error", int64_t{report.error});
        rows.put("compressed", int64_t{report.compressed});
        rows.put("bytes", as_int64(report.bytes));
        rows.put("resume", as_int64(report.resume));
        rows.put("records", as_int64(report.records));
        rows.put("values", as_int64(report.steps.count));
        rows.put("truncated", as_int64(report.truncated));
        rows.put("faults", as_int64(report.faults.size() + report.more_faults));
        rows.put("sessions", as_int64(report.sessions));
        rows.put("timed", int64_t{report.times.known});
        rows.put("first_wall_time", report.times.start());
        rows.put("last_wall_time", report.times.end);
        rows.put("versioned", int64_t{!report.file_version.empty()});
      },
      out);
}

void export_sessions(const Result& result, ArrowArrayStream* out) {
  export_rows(
      result.sessions,
      [](Rows& rows, const SessionReport& report) {
        rows.put("run", int64_t{report.run});
        rows.put("file", int64_t{report.file});
        rows.put("offset", as_int64(report.offset));
        rows.put("begin", report.times.begin);
        rows.put("end", report.times.end);
        rows.put("timed", int64_t{report.times.known});
        rows.put("has_start", int64_t{report.start.known});
        rows.put("start_step", report.start.step);
        rows.put("records", as_int64(report.records));
        rows.put("values", as_int64(report.steps.count));
        rows.put("first_step", report.steps.first);
        rows.put("last_step", report.steps.last);
        rows.put("max_step", report.steps.max);
      },
      out);
}

void export_segments(const Result& result, ArrowArrayStream* out) {
  export_rows(
      result.segments,
      [](Rows& rows, const SegmentReport& report) {
        rows.put("series", int64_t{report.series});
        rows.put("session", int64_t{report.session});
        rows.put("count", as_int64(report.seen.steps.count));
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
