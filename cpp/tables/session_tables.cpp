// The tables of files, sessions and segments: numbers only, a row each, in the order of the Result.
#include "tables/session_tables.hpp"

#include "decode/decode.hpp"

namespace tbq {
namespace {

int64_t whole(uint64_t value) { return static_cast<int64_t>(value); }

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
    Batch schema = batch;
    std::vector<Batch> batches;
    batches.push_back(std::move(batch));
    export_stream(std::move(schema), std::move(batches), out);
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

// An empty table has its columns too: the first row makes them, so one is made and cut off.
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
      [](Rows& rows, const FileReport& one) {
        rows.put("run", int64_t{one.run});
        rows.put("state", static_cast<int64_t>(one.state));
        rows.put("error", int64_t{one.error});
        rows.put("compressed", int64_t{one.compressed});
        rows.put("bytes", whole(one.bytes));
        rows.put("resume", whole(one.resume));
        rows.put("records", whole(one.records));
        rows.put("values", whole(one.values));
        rows.put("truncated", whole(one.truncated));
        rows.put("faults", whole(one.faults.size() + one.more_faults));
        rows.put("sessions", whole(one.sessions));
        rows.put("timed", int64_t{one.timed});
        rows.put("first_wall_time", one.first_wall);
        rows.put("last_wall_time", one.last_wall);
        rows.put("versioned", int64_t{!one.file_version.empty()});
      },
      out);
}

void export_sessions(const Result& result, ArrowArrayStream* out) {
  export_rows(
      result.sessions,
      [](Rows& rows, const SessionReport& one) {
        rows.put("run", int64_t{one.run});
        rows.put("file", int64_t{one.file});
        rows.put("offset", whole(one.offset));
        rows.put("begin", one.begin);
        rows.put("end", one.end);
        rows.put("timed", int64_t{one.timed});
        rows.put("has_start", int64_t{one.has_start});
        rows.put("start_step", one.start_step);
        rows.put("records", whole(one.records));
        rows.put("values", whole(one.values));
        rows.put("first_step", one.first_step);
        rows.put("last_step", one.last_step);
        rows.put("max_step", one.max_step);
      },
      out);
}

void export_segments(const Result& result, ArrowArrayStream* out) {
  export_rows(
      result.segments,
      [](Rows& rows, const SegmentReport& one) {
        rows.put("series", int64_t{one.series});
        rows.put("session", int64_t{one.session});
        rows.put("count", whole(one.seen.count));
        rows.put("first_step", one.seen.first_step);
        rows.put("last_step", one.seen.last_step);
        rows.put("min_step", one.seen.min_step);
        rows.put("max_step", one.seen.max_step);
        rows.put("first_wall_time", one.seen.first_wall);
        rows.put("last_wall_time", one.seen.last_wall);
        rows.put("limit", one.limit);
      },
      out);
}

}  // namespace tbq
