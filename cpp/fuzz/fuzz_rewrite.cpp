// Any bytes as an event file, rewritten in several ways: no crash, and what a repair writes is sound.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "event/edit.hpp"
#include "fuzz/fuzz.hpp"
#include "record/framing.hpp"
#include "rewrite/rewrite.hpp"

using namespace tbq;

namespace {

std::string scratch(const char* name) {
  static const std::string stem =
      (std::filesystem::temp_directory_path() / ("tbq_fuzz_" + std::to_string(std::random_device()())))
          .string();
  return stem + name;
}

void write(const std::string& path, const uint8_t* data, size_t size) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  REQUIRE(file != nullptr);
  REQUIRE(std::fwrite(data, 1, size, file) == size);
  std::fclose(file);
}

Result survey(const std::string& path, bool verify) {
  DecodeOptions options;
  options.restarts = Restarts::keep;
  options.session_tables = true;
  options.verify = verify;
  return decode({{path, 0}}, options);
}

const bool seeded = [] {
  std::string file = bytes::record(bytes::version(1.0));
  for (int i = 0; i < 5; ++i) file += bytes::record(bytes::scalar("loss", i, 0.5F, 2.0 + i));
  seeds().push_back(file);
  seeds().push_back(file + file.substr(0, file.size() - 20) + file);
  seeds().push_back(bytes::scalar("loss", 3, 0.5F));
  const std::string value = bytes::message(1, "t") + bytes::message(8, bytes::tensor(1, bytes::of(1.0F)));
  seeds().push_back(bytes::event(1.0, 7, bytes::summary(value + bytes::metadata("scalars"))));
  return true;
}();

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // The editor alone, on bytes that need not be an event.
  {
    std::string out;
    const std::string tag = "renamed";
    std::vector<ValueEdit> edits(3);
    edits[0].drop = size % 2 == 0;
    edits[1].tag = &tag;
    edits[2].metadata = {data, size < 8 ? size : 8};
    const int64_t step = static_cast<int64_t>(size) - 5;
    edit_event({data, size}, edits, size % 3 == 0 ? &step : nullptr, out);
  }
  const std::string in = scratch(".in");
  const std::string out = scratch(".out");
  // As a file of its own, and as the payloads of sound records, so that the events in it are reached.
  std::string framed;
  for (size_t at = 0; at < size;) {
    const size_t length = std::min<size_t>(size - at, 1 + data[at]);
    append_record(framed, {data + at, length});
    at += length;
  }
  for (const bool records : {false, true}) {
    if (records) {
      write(in, reinterpret_cast<const uint8_t*>(framed.data()), framed.size());
    } else {
      write(in, data, size);
    }
    const Result result = survey(in, false);
    std::vector<SeriesRule> rules(result.series.size());
    for (size_t i = 0; i < rules.size(); ++i) {
      rules[i].drop = (i + size) % 3 == 0;
      rules[i].renamed = (i + size) % 3 == 1;
      rules[i].tag = "renamed";
    }
    RewriteOptions options;
    options.block = 1 + size % 100;
    options.repair = true;
    REQUIRE(rewrite_run(result, {in}, 0, rules, options, "").state == RewriteState::done);
    options.max_points = 2;
    options.offset = 1;
    options.resume = true;
    REQUIRE(rewrite_run(result, {in}, 0, rules, options, "").state == RewriteState::done);
    options = {};
    options.repair = true;
    std::remove(out.c_str());
    const RewriteReport report =
        rewrite_run(result, {in}, 0, std::vector<SeriesRule>(result.series.size()), options, out);
    REQUIRE(report.state == RewriteState::done);
    const Result repaired = survey(out, true);
    REQUIRE(repaired.files[0].faults.empty() && repaired.files[0].truncated == 0);
    REQUIRE(repaired.files[0].records == report.records_out);
    std::remove(out.c_str());
  }
  return 0;
}
