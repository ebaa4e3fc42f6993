// Compares the fast paths with the general path: general_only must not change any result.
#include <string>
#include <vector>

#include "fuzz/rows.hpp"
#include "io/memory_file.hpp"
#include "rewrite/rewrite.hpp"
#include "tests/bytes.hpp"
#include "tests/check.hpp"

namespace {

constexpr int kSteps = 60;

// Scalars in both encodings, histograms, images and texts that differ only in their numbers, and a few
// others.
std::string log_of_all() {
  const auto histogram = [](int step, uint64_t bins) {
    std::string numbers;
    for (uint64_t i = 0; i < 3 * bins; ++i) numbers += bytes::of(static_cast<double>(i) + step);
    const std::string shape =
        bytes::message(2, bytes::message(2, bytes::number(1, bins)) + bytes::message(2, bytes::number(1, 3)));
    return bytes::message(8, bytes::number(1, 2) + shape + bytes::message(4, numbers));
  };
  std::string log;
  for (int session = 0; session < 3; ++session) {
    log += bytes::record(bytes::version(100.0 * session + 1));
    for (int i = 0; i < kSteps; ++i) {
      const int64_t step = 10 * session + i;
      const double wall = 100.0 * session + 2 + i;
      const auto add = [&](const std::string& value) {
        log += bytes::record(bytes::event(wall, step, bytes::summary(value)));
      };
      add(bytes::message(1, "loss") + bytes::fixed(2, static_cast<float>(i)));
      add(bytes::message(1, "rate") + bytes::message(8, bytes::tensor(2, bytes::of(i * 0.1))) +
          (i == 0 ? bytes::metadata("scalars") : ""));
      add(bytes::message(1, "bins") + histogram(i, i == 30 ? 7 : 5) + bytes::metadata("histograms"));
      add(bytes::message(1, "image") +
          bytes::message(4, bytes::number(1, 2) + bytes::message(4, std::string(20, 'x'))));
      if (i % 7 == 0) add(bytes::message(1, "now and then") + bytes::fixed(2, 1.0F));
      if (i == 40) log += bytes::record("not an event") + std::string(50, '\0');
    }
  }
  return log;
}

tbq::Result decode(const tbq::MemoryFile& file, bool general_only) {
  tbq::DecodeOptions options;
  options.skippable = 0;
  options.kinds = tbq::kEveryKind;
  options.session_tables = true;
  options.restarts = tbq::Restarts::keep;
  options.general_only = general_only;
  return tbq::decode({{file.path(), 0}}, options);
}

}  // namespace

TEST(fast_paths_decode_like_the_general_path) {
  const tbq::MemoryFile file(log_of_all());
  const tbq::Result fast = decode(file, false);
  const tbq::Result general = decode(file, true);
  CHECK(fast.series.size() == 5 && rows_of(fast, file).series.size() == 5);
  require_equal(rows_of(fast, file), rows_of(general, file), "general_only");
  require_same_report(fast, general);
  const auto columns = [](const tbq::Result& result) {
    size_t rows = 0;
    for (const tbq::BlobRow& row : *result.blobs[static_cast<size_t>(tbq::Kind::histograms)])
      rows += row.bins > 0;
    return rows;
  };
  CHECK(columns(fast) == 3 * kSteps && columns(general) == 0);
}

TEST(fast_paths_rewrite_like_the_general_path) {
  const tbq::MemoryFile file(log_of_all());
  const tbq::Result survey = decode(file, false);
  for (int way = 0; way < 6; ++way) {
    std::vector<tbq::SeriesRule> rules(survey.series.size());
    tbq::RewriteOptions options;
    options.repair = true;
    if (way == 1) rules[0].drop = true;
    if (way == 2) rules[2] = {false, true, "renamed"};
    if (way == 3) options.first_step = 20;
    if (way == 4) options.max_points = 10;
    if (way == 5) options.resume = true;
    tbq::MemoryFile outputs[2];
    tbq::RewriteReport reports[2];
    for (const bool general : {false, true}) {
      options.general_only = general;
      reports[general] = tbq::rewrite_run(survey, {file.path()}, 0, rules, options, outputs[general].path());
      CHECK(reports[general].state == tbq::RewriteState::done);
    }
    CHECK(outputs[0].content() == outputs[1].content());
    CHECK(reports[0].records_out == reports[1].records_out && reports[0].changed == reports[1].changed);
    CHECK(reports[0].dropped_rule == reports[1].dropped_rule &&
          reports[0].dropped_steps == reports[1].dropped_steps &&
          reports[0].dropped_restart == reports[1].dropped_restart &&
          reports[0].dropped_thinned == reports[1].dropped_thinned);
  }
}
