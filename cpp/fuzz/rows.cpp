// Converts rows to bytes for comparison.
#include "fuzz/rows.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fuzz/fuzz.hpp"
#include "record/framing.hpp"

namespace {

using tbq::BlobRow;
using tbq::Bytes;

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}
void put(std::string& out, Bytes bytes) {
  put(out, static_cast<uint64_t>(bytes.size()));
  out.append(tbq::as_text(bytes));
}

// Finds the value's bytes; false if its record is damaged.
bool load(const BlobRow& row, const std::string& file, Bytes& out) {
  if (!row.deferred) {
    out = {row.payload, row.payload_length};
    return true;
  }
  const size_t length = row.record_length;
  REQUIRE(row.record <= file.size() && length + tbq::kOverhead <= file.size() - row.record);
  const auto* record = reinterpret_cast<const uint8_t*>(file.data()) + row.record;
  REQUIRE(size_t{row.payload_offset} + row.payload_length <= length);
  out = {record + tbq::kHeader + row.payload_offset, row.payload_length};
  return tbq::payload_agrees(record + tbq::kHeader, length,
                             tbq::load_le<uint32_t>(record + tbq::kHeader + length));
}

void put_value(std::string& out, const BlobRow& row, tbq::Kind kind, Bytes payload) {
  if (row.bins > 0) {
    const auto* columns = reinterpret_cast<const double*>(row.payload);
    put(out, uint64_t{row.bins} * tbq::HistogramColumns::kBin);
    for (size_t i = 0; i < row.bins; ++i) {
      for (size_t column = 0; column < 3; ++column) put(out, columns[column * row.stride + i]);
    }
    return;
  }
  if (kind == tbq::Kind::histograms && row.field == tbq::ValueField::tensor) {
    if (const Bytes numbers = tbq::HistogramColumns().numbers(payload); !numbers.empty()) {
      put(out, numbers);
      return;
    }
  }
  put(out, payload);
}

}  // namespace

Rows rows_of(const tbq::Result& result, const tbq::MemoryFile& file, const Wanted& wanted, bool metadata) {
  Rows rows;
  for (const tbq::ScalarBatch& batch : result.scalars) {
    size_t at = 0;
    for (const auto& stretch : batch.stretches) {
      const std::string& tag = result.series[stretch.series].tag;
      Rows::Series& series = rows.series[{tag, tbq::Kind::scalars}];
      for (uint32_t i = 0; i < stretch.rows; ++i, ++at) {
        if (wanted && !wanted(tag, tbq::Kind::scalars, batch.steps[at])) continue;
        series.steps.push_back(batch.steps[at]);
        put(series.bytes, batch.wall_times[at]);
        put(series.bytes, batch.values[at]);
      }
    }
    REQUIRE(at == batch.rows);
  }
  for (size_t i = 0; i < tbq::kKindCount; ++i) {
    if (!result.blobs[i]) continue;
    const auto kind = static_cast<tbq::Kind>(i);
    for (const BlobRow& row : *result.blobs[i]) {
      const tbq::SeriesReport& report = result.series[row.tag];
      REQUIRE(report.kind == kind);
      Bytes payload;
      if (!load(row, file.content(), payload) || (wanted && !wanted(report.tag, kind, row.step))) continue;
      Rows::Series& series = rows.series[{report.tag, kind}];
      series.steps.push_back(row.step);
      put(series.bytes, row.wall_time);
      put(series.bytes, row.field);
      put_value(series.bytes, row, kind, payload);
      if (metadata) put(series.bytes, Bytes(row.metadata, row.metadata_length));
    }
  }
  std::erase_if(rows.series, [](const auto& report) { return report.second.steps.empty(); });
  return rows;
}

std::string described(const Rows& rows) {
  std::string out;
  for (const auto& [key, series] : rows.series) {
    out += "  " + key.tag + " (" + tbq::kind_name(key.kind) + "):";
    for (const int64_t step : series.steps) out += " " + std::to_string(step);
    out += "\n";
  }
  return out.empty() ? "  nothing\n" : out;
}

void require_equal(const Rows& got, const Rows& want, const char* what) {
  if (got == want) return;
  std::fprintf(stderr, "%s: the rows differ. got:\n%swant:\n%s", what, described(got).c_str(),
               described(want).c_str());
  for (const auto& [key, series] : got.series) {
    const auto found = want.series.find(key);
    if (found != want.series.end() && found->second.steps == series.steps && found->second != series) {
      std::fprintf(stderr, "the values of %s differ\n", key.tag.c_str());
    }
  }
  std::abort();
}

std::string reported(const tbq::Result& result, bool readable) {
  std::string out;
  const auto say = [&](const char* name, auto value) {
    if (readable) {
      out.append(" ").append(name).append(" ").append(std::to_string(value));
    } else {
      put(out, value);
    }
  };
  for (const tbq::SeriesReport& report : result.series) {
    const tbq::Span& seen = report.seen;
    out += report.tag + " (" + tbq::kind_name(report.kind) + ", " + report.metadata.plugin + "):";
    say("metadata", report.metadata_bytes.size());
    say("dtype", report.dtype);
    say("seen", seen.steps.count);
    say("rows", report.rows);
    say("dropped", report.dropped.count);
    say("from", report.dropped.min);
    say("to", report.dropped.max);
    say("rounded", report.rounded);
    say("refused", report.refused);
    say("first", seen.steps.first);
    say("last", seen.steps.last);
    say("min", seen.steps.min);
    say("max", seen.steps.max);
    say("first_wall_time", seen.first_wall_time);
    say("last_wall_time", seen.last_wall_time);
    out += '\n';
  }
  for (const tbq::FileReport& report : result.files) {
    out += std::string(tbq::file_state_name(report.state)) + ":";
    say("bytes", report.bytes);
    say("resume", report.resume);
    say("records", report.records);
    say("values", report.steps.count);
    say("truncated", report.truncated);
    say("lost", report.lost_bytes);
    say("more", report.more_faults);
    say("sessions", report.sessions);
    say("first", report.steps.first);
    say("last", report.steps.last);
    say("max", report.steps.max);
    say("first_wall_time", report.times.start());
    say("last_wall_time", report.times.end);
    out += " by " + report.writer + " " + report.file_version + '\n';
    for (const tbq::Fault& fault : report.faults) {
      out += std::string("  ") + tbq::fault_name(fault.code);
      say("at", fault.offset);
      say("length", fault.length);
      if (fault.has_before) say("before", fault.step_before);
      if (fault.has_after) say("after", fault.step_after);
      out += '\n';
    }
  }
  return out;
}

void require_same_report(const tbq::Result& got, const tbq::Result& want) {
  if (reported(got, false) == reported(want, false)) return;
  std::fprintf(stderr, "the reports differ. got:\n%swant:\n%s", reported(got, true).c_str(),
               reported(want, true).c_str());
  std::abort();
}
