// Bytes as an event file: however it is read (block size, split, threads), the tables are the same.
#include <bit>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <tuple>

#include "decode/decode.hpp"
#include "fuzz/fuzz.hpp"
#include "tables/scalars.hpp"
#include "tables/series_table.hpp"
#include "tables/session_tables.hpp"

namespace {

using Row = std::tuple<int64_t, uint64_t, uint64_t>;
using Rows = std::map<std::string, std::vector<Row>>;

struct Seen {
  Rows scalars;
  std::map<std::pair<std::string, tbq::Kind>, std::vector<std::string>> blobs;
  uint64_t records = 0;
  uint64_t truncated = 0;
  uint64_t lost = 0;
  uint64_t resume = 0;
  std::vector<std::tuple<tbq::FaultCode, uint64_t, uint64_t>> faults;
  bool operator==(const Seen&) const = default;
};

Seen look(tbq::Result& result) {
  Seen seen;
  for (const tbq::ScalarBatch& batch : result.scalars) {
    size_t at = 0;
    for (const auto& stretch : batch.stretches) {
      auto& rows = seen.scalars[result.series[stretch.series].tag];
      for (uint32_t i = 0; i < stretch.rows; ++i, ++at) {
        rows.emplace_back(batch.steps[at], std::bit_cast<uint64_t>(batch.walls[at]),
                          std::bit_cast<uint64_t>(batch.values[at]));
      }
    }
    REQUIRE(at == batch.rows);
  }
  for (size_t kind = 0; kind < tbq::kKindCount; ++kind) {
    if (!result.blobs[kind]) continue;
    for (const tbq::BlobRow& row : *result.blobs[kind]) {
      REQUIRE(!row.deferred);
      seen.blobs[{result.series[row.tag].tag, static_cast<tbq::Kind>(kind)}].emplace_back(
          reinterpret_cast<const char*>(row.payload), row.payload_length);
    }
  }
  const tbq::FileReport& report = result.files[0];
  seen.records = report.records;
  seen.truncated = report.truncated;
  seen.lost = report.lost_bytes;
  seen.resume = report.resume;
  for (const tbq::Fault& fault : report.faults)
    seen.faults.emplace_back(fault.code, fault.offset, fault.length);
  REQUIRE(report.lost_bytes + report.truncated <= report.bytes);
  REQUIRE(report.resume <= report.bytes);
  return seen;
}

// The tables through the Arrow interface, as a consumer takes them.
void drain(ArrowArrayStream& stream) {
  ArrowSchema schema;
  REQUIRE(stream.get_schema(&stream, &schema) == 0);
  schema.release(&schema);
  for (;;) {
    ArrowArray array;
    REQUIRE(stream.get_next(&stream, &array) == 0);
    if (!array.release) break;
    array.release(&array);
  }
  stream.release(&stream);
}

const std::string& path() {
  static const std::string made =
      (std::filesystem::temp_directory_path() / ("tbq_fuzz_" + std::to_string(std::random_device{}())))
          .string();
  static const struct Remove {
    ~Remove() { std::filesystem::remove(made); }
  } remove;
  return made;
}

Seen decode(const tbq::DecodeOptions& options) {
  tbq::Result result = tbq::decode({{path(), 0}}, options);
  Seen seen = look(result);
  ArrowArrayStream stream;
  tbq::export_series(result, {"run"}, &stream);
  drain(stream);
  tbq::export_scalars(result, {"run"}, &stream);
  drain(stream);
  return seen;
}

const bool added = [] {
  using namespace bytes;
  const std::string file =
      record(version(1e9)) + record(scalar("loss", 1, 0.5F)) + record(scalar("loss", 2, 0.25F)) +
      record(
          event(1e9, 3, summary(message(1, "v2") + message(8, tensor(2, of(0.5))) + metadata("scalars")))) +
      record(event(1e9, 4, summary(message(1, "v2") + message(8, tensor(2, of(0.25)))))) +
      record(event(2e9, 2, message(7, number(1, 1)))) + record(version(3e9)) +
      record(scalar("loss", 1, 7.0F, 3e9));
  const std::string image =
      event(1e9, 5, summary(message(1, "img") + message(4, message(4, std::string(5000, 'x')))));
  seeds().push_back("r" + file);
  seeds().push_back("r" + file + record(image) + record(image) + file);
  seeds().push_back("r" + file.substr(0, 100) + std::string(200, '\0') + file);
  seeds().push_back("r" + of(uint64_t{1} << 60) + file);
  // Framed anew, so that what a mutation does to an event is not caught by its checksum.
  seeds().push_back("f" + of(uint16_t{26}) + scalar("loss", 1, 0.5F) + of(uint16_t{26}) +
                    scalar("loss", 2, 0.5F));
  seeds().push_back("f" + of(uint16_t{5100}) + image + image);
  return true;
}();

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string file(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'f') {  // each payload behind its length: made into sound records
    std::string framed;
    for (size_t at = 0; at + 2 <= file.size();) {
      uint16_t length;
      std::memcpy(&length, file.data() + at, 2);
      framed += bytes::record(std::string_view(file).substr(at + 2, length));
      at += 2 + size_t{length};
    }
    file = framed;
  }
  std::ofstream(path(), std::ios::binary | std::ios::trunc)
      .write(file.data(), static_cast<std::streamsize>(file.size()));

  tbq::DecodeOptions options;
  options.kinds = ~tbq::Kinds{0};
  options.restarts = static_cast<tbq::Restarts>(size % 4);
  const Seen whole = decode(options);
  for (const size_t block : {size_t{1}, size_t{13}, size_t{4096}}) {
    if (block == 1 && file.size() > 2000) continue;
    options.block = block;
    REQUIRE(decode(options) == whole);
  }
  options.kinds = tbq::bit(tbq::Kind::scalars);
  const Seen scalars = decode(options);
  REQUIRE(scalars.scalars == whole.scalars);
  options.kinds = ~tbq::Kinds{0};
  options.threads = 3;
  options.split = 1 + size % 300;
  const Seen split = decode(options);
  REQUIRE(split.scalars == whole.scalars);
  REQUIRE(split.blobs == whole.blobs);
  REQUIRE(split.faults == whole.faults && split.records == whole.records && split.resume == whole.resume);
  return 0;
}
