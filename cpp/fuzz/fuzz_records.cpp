// Fuzzes bytes as an event file, raw or described by a script: however it is decoded, the reports must add
// up.
#include "fuzz/fuzz.hpp"
#include "fuzz/logs.hpp"
#include "fuzz/rows.hpp"
#include "fuzz/script.hpp"
#include "fuzz/tables.hpp"
#include "io/memory_file.hpp"
#include "tables/result_tables.hpp"

namespace {

constexpr uint8_t kRaw = 4;

const bool added = [] {
  uint8_t options = 0;
  for (const std::string& log : log_scripts()) {
    seeds().push_back(std::string{static_cast<char>(options & ~kRaw), static_cast<char>(options * 5 | 3)} +
                      log);
    options = static_cast<uint8_t>(options + 9);
  }
  for (const std::string& log : log_scripts()) {
    const std::string file = script::file_of(reinterpret_cast<const uint8_t*>(log.data()), log.size());
    if (file.size() < 500) seeds().push_back(std::string{static_cast<char>(kRaw), 3} + file);
  }
  return true;
}();

void check(const tbq::FileReport& report) {
  REQUIRE(report.lost_bytes + report.truncated <= report.bytes);
  REQUIRE(report.resume <= report.bytes);
  uint64_t lost = 0;
  uint64_t end = 0;
  for (const tbq::Fault& fault : report.faults) {
    REQUIRE(fault.offset >= end && fault.length > 0);
    end = fault.offset + fault.length;
    lost += fault.length;
  }
  REQUIRE(end <= report.bytes && (report.more_faults > 0 || lost == report.lost_bytes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const uint8_t flags = input.byte();
  static const std::vector<std::string> names = tbq::table_names();
  static constexpr size_t blocks[] = {1, 13, 100, 4096};
  tbq::DecodeOptions options;
  options.in_place = true;
  options.skippable = 0;
  options.restarts = static_cast<tbq::Restarts>(flags % 4);
  options.defer = (flags & 8) != 0;
  options.verify = (flags & 16) != 0;
  options.session_tables = (flags & 32) != 0;
  const uint8_t amount = input.byte();
  options.block = blocks[amount % 4];
  options.kinds = (flags & 64) != 0 ? tbq::bit(tbq::Kind::scalars) : ~tbq::Kinds{0};
  if ((flags & 128) != 0) {
    options.first_step = 2;
    options.last_step = 20;
  }
  tbq::MemoryFile file((flags & kRaw) != 0 ? input.text(input.size())
                                           : script::file_of(input.data(), input.size()));
  if (file.content().size() > 4000) options.block = 4096;
  tbq::Result result = tbq::decode({{file.path(), 0}}, options);
  check(result.files[0]);
  uint64_t rows[tbq::kKindCount] = {};
  for (const tbq::SeriesReport& series : result.series) {
    rows[static_cast<size_t>(series.kind)] += series.rows;
    REQUIRE(series.rows + series.dropped.count <= series.seen.steps.count);
    REQUIRE(series.seen.steps.min <= series.seen.steps.max);
  }
  for (size_t kind = 1; kind < tbq::kKindCount; ++kind) {
    if (result.blobs[kind]) REQUIRE(result.blobs[kind]->size() == rows[kind]);
  }
  REQUIRE(result.scalar_rows() == rows[0]);
  rows_of(result, file);
  // One of the tables, or none, as a consumer of Arrow sees it.
  ArrowArrayStream stream{};
  switch (const size_t which = amount / 4; which) {
    case 0:
      tbq::export_series(result, {"run"}, &stream);
      break;
    case 1:
      tbq::export_files(result, &stream);
      break;
    case 2:
      tbq::export_sessions(result, &stream);
      break;
    case 3:
      tbq::export_segments(result, &stream);
      break;
    case 4:
      tbq::export_scalars(result, result.scalars, {"run"}, &stream);
      break;
    default:
      if (which < 5 + names.size()) table_of(result, *tbq::table_kind(names[which - 5]));
      return 0;
  }
  drain(stream);
  return 0;
}
