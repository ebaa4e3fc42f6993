// Tests decode(): order, reports, parts, problems with files, known metadata.
#include "decode/decode.hpp"

#include <cerrno>
#include <memory>
#include <stdexcept>

#include "io/memory_file.hpp"
#include "tables/result_tables.hpp"
#include "tests/bytes.hpp"
#include "tests/check.hpp"
#include "tests/files.hpp"

namespace {

using Points = std::vector<std::pair<std::string, int64_t>>;

Points points_of(const tbq::Result& result) {
  Points rows;
  for (const tbq::ScalarBatch& batch : result.scalars) {
    size_t at = 0;
    for (const auto& stretch : batch.stretches) {
      const tbq::SeriesReport& series = result.series[stretch.series];
      for (uint32_t i = 0; i < stretch.rows; ++i) {
        rows.emplace_back(std::to_string(series.run) + series.tag, batch.steps[at++]);
      }
    }
  }
  return rows;
}

std::string log(int first, int last, double wall, const char* tag = "loss") {
  std::string file = bytes::record(bytes::version(wall));
  for (int step = first; step < last; ++step) file += bytes::record(bytes::scalar(tag, step, 1.0F, wall));
  return file;
}

tbq::DecodeOptions options() {
  tbq::DecodeOptions chosen;
  chosen.skippable = 0;
  chosen.kinds = tbq::bit(tbq::Kind::scalars);
  return chosen;
}

}  // namespace

TEST(runs_come_in_order_and_files_of_a_run_are_joined) {
  const TestFile first(log(0, 5, 10)), second(log(3, 6, 20)), other(log(0, 2, 5, "acc"));
  for (const unsigned threads : {1U, 2U, 7U}) {
    tbq::DecodeOptions asked = options();
    asked.threads = threads;
    asked.split = 60;
    const tbq::Result result = tbq::decode({{second.path(), 0}, {first.path(), 0}, {other.path(), 1}}, asked);
    CHECK((points_of(result) == Points{{"0loss", 0},
                                       {"0loss", 1},
                                       {"0loss", 2},
                                       {"0loss", 3},
                                       {"0loss", 4},
                                       {"0loss", 5},
                                       {"1acc", 0},
                                       {"1acc", 1}}));
    CHECK(result.series[0].dropped.count == 2 && result.series[0].dropped.min == 3 &&
          result.series[0].dropped.max == 4);
    CHECK(result.files[0].records == 4 && result.files[1].records == 6);
  }
}

// Checks the report on a file that is read at once, and in parts of any size.
template <class Check>
void check_reports(const std::string& content, Check&& check) {
  const tbq::MemoryFile file(content);
  tbq::DecodeOptions asked = options();
  asked.in_place = true;
  asked.kinds = ~tbq::Kinds{0};
  for (uint64_t split = 1; split <= content.size(); split += 7) {
    for (const unsigned threads : {1U, 2U, 3U}) {
      asked.threads = threads;
      asked.split = split;
      check(tbq::decode({{file.path(), 0}}, asked));
    }
  }
}

TEST(a_file_began_at_its_earliest_time_also_in_parts) {
  using namespace bytes;
  std::string file;
  for (int step = 0; step < 8; ++step) file += record(scalar("loss", step, 1.0F, 100.0 - step));
  check_reports(file, [](const tbq::Result& result) {
    CHECK(result.files[0].times.start() == 93 && result.files[0].times.end == 100);
  });
}

TEST(an_empty_session_does_not_count_also_in_parts) {
  const std::string file = std::string(300, '\0') + log(0, 3, 10);
  check_reports(file, [](const tbq::Result& result) {
    CHECK(result.files[0].sessions == 1 && result.files[0].records == 4);
  });
}

TEST(records_before_damage_belong_to_their_session_also_in_parts) {
  const std::string file = log(5, 8, 10) + bytes::record(bytes::version(20)) + std::string(60, '\0') +
                           bytes::record(bytes::scalar("loss", 9, 1.0F, 21));
  check_reports(file, [](const tbq::Result& result) {
    CHECK(result.files[0].faults.size() == 1);
    const tbq::Fault& fault = result.files[0].faults[0];
    CHECK(!fault.has_before && fault.has_after && fault.step_after == 9);
  });
}

TEST(metadata_of_the_first_session_wins_also_if_the_clock_was_set_back) {
  using namespace bytes;
  const auto number_of = [](const char* plugin, double wall) {
    return record(version(wall)) +
           record(
               event(wall, 1, summary(message(1, "x") + message(8, tensor(1, of(1.0F))) + metadata(plugin))));
  };
  check_reports(number_of("mine", 50) + number_of("scalars", 20), [](const tbq::Result& result) {
    CHECK(result.series.size() == 1 && result.series[0].kind == tbq::Kind::scalars);
  });
  check_reports(number_of("scalars", 50) + number_of("mine", 20), [](const tbq::Result& result) {
    CHECK(result.series.size() == 1 && result.series[0].kind == tbq::Kind::others);
  });
}

TEST(the_report_of_a_file_states_what_it_is) {
  const TestFile empty(""), text(std::string(100, 'x')),
      lfs("version https://git-lfs.github.com/spec/v1\noid 1\n"), good(log(0, 3, 1));
  const tbq::Result result = tbq::decode(
      {{empty.path(), 0}, {text.path(), 0}, {lfs.path(), 0}, {"no/such/file", 0}, {good.path(), 0}},
      options());
  CHECK(result.files[0].state == tbq::FileState::empty &&
        result.files[1].state == tbq::FileState::not_events);
  CHECK(result.files[2].state == tbq::FileState::git_lfs &&
        result.files[3].state == tbq::FileState::unreadable);
  CHECK(result.files[3].error == ENOENT && result.files[4].state == tbq::FileState::events);
  CHECK(result.scalar_rows() == 3);
}

TEST(a_selection_is_asked_once_for_each_tag) {
  const TestFile file(log(0, 50, 1, "a") + log(0, 50, 1, "b"));
  int asked = 0;
  tbq::DecodeOptions chosen = options();
  chosen.select = [&](uint32_t, std::string_view tag) { return ++asked, tag == "b"; };
  const tbq::Result result = tbq::decode({{file.path(), 0}}, chosen);
  CHECK(asked == 2 && result.scalar_rows() == 50);
  CHECK((result.tags(tbq::Kind::scalars) == std::vector<std::string>{"a", "b"}));
}

TEST(a_compressed_file_is_read_from_its_unpacked_copy) {
  const TestFile plain(log(0, 3, 1)), packed("\x1f\x8b some packed bytes");
  tbq::DecodeOptions chosen = options();
  chosen.inflate = [&](const std::string& path) {
    CHECK(path == packed.path());
    return plain.path();
  };
  const tbq::Result result = tbq::decode({{packed.path(), 0}}, chosen);
  CHECK(result.scalar_rows() == 3 && result.files[0].compressed);
  chosen.inflate = [](const std::string&) { return std::string(); };
  CHECK(tbq::decode({{packed.path(), 0}}, chosen).files[0].state == tbq::FileState::not_events);
}

TEST(a_failure_in_a_callback_reaches_the_caller) {
  const TestFile file(log(0, 3, 1));
  for (const unsigned threads : {1U, 3U}) {
    tbq::DecodeOptions chosen = options();
    chosen.threads = threads;
    chosen.select = [](uint32_t, std::string_view) -> bool { throw std::runtime_error("no"); };
    bool caught = false;
    try {
      tbq::decode({{file.path(), 0}, {file.path(), 1}}, chosen);
    } catch (const std::runtime_error&) {
      caught = true;
    }
    CHECK(caught);
  }
}

TEST(no_files_are_no_rows) {
  tbq::Result result = tbq::decode({}, options());
  CHECK(result.scalar_rows() == 0 && result.series.empty());
  ArrowArrayStream stream;
  std::vector<tbq::ScalarBatch> batches;
  CHECK(result.take_scalars(batches));
  tbq::export_scalars(result, std::move(batches), {}, &stream);
  ArrowArray array;
  CHECK(stream.get_next(&stream, &array) == 0 && !array.release);
  stream.release(&stream);
}

TEST(unwanted_columns_are_not_made) {
  const TestFile file(log(0, 6000, 10) + log(100, 104, 20));
  tbq::DecodeOptions asked = options();
  asked.columns = 1U << static_cast<unsigned>(tbq::ScalarColumn::step) |
                  1U << static_cast<unsigned>(tbq::ScalarColumn::value);
  tbq::Result result = tbq::decode({{file.path(), 0}}, asked);
  CHECK(result.scalar_rows() == 104);
  ArrowArrayStream stream{};
  std::vector<tbq::ScalarBatch> batches;
  CHECK(result.take_scalars(batches));
  CHECK(!result.take_scalars(batches) && batches.size() == 1);  // once
  tbq::export_scalars(result, std::move(batches), {"run"}, &stream);
  ArrowSchema schema{};
  CHECK(stream.get_schema(&stream, &schema) == 0 && schema.n_children == 2);
  schema.release(&schema);
  int64_t rows = 0;
  for (;;) {
    ArrowArray array{};
    CHECK(stream.get_next(&stream, &array) == 0);
    if (!array.release) break;
    const auto* steps = static_cast<const int64_t*>(array.children[0]->buffers[1]);
    const auto* values = static_cast<const double*>(array.children[1]->buffers[1]);
    for (int64_t i = 0; i < array.length; ++i) CHECK(steps[i] == rows + i && values[i] == 1.0);
    rows += array.length;
    array.release(&array);
  }
  CHECK(rows == 104);
  stream.release(&stream);
}

TEST(the_first_metadata_of_a_session_counts_after_a_value_without_any) {
  const auto tensor = [](double wall, const char* plugin) {
    return bytes::record(bytes::event(
        wall, 7,
        bytes::summary(bytes::message(1, "a") + bytes::message(8, bytes::tensor(1, bytes::of(0.5F))) +
                       bytes::metadata(plugin))));
  };
  // The second session began first, so its first metadata of the tag counts, on a value that looks like an
  // earlier one.
  const tbq::MemoryFile file(
      bytes::record(bytes::version(2e9)) + tensor(2e9, "scalars") + bytes::record(bytes::version(1e9)) +
      bytes::record(bytes::scalar("a", 6, 0.5F, 1e9)) + tensor(1e9, "scalars") + tensor(1e9, "mesh"));
  for (const bool general_only : {false, true}) {
    tbq::DecodeOptions asked = options();
    asked.kinds = ~tbq::Kinds{0};
    asked.restarts = tbq::Restarts::keep;
    asked.general_only = general_only;
    const tbq::Result result = tbq::decode({{file.path(), 0}}, asked);
    CHECK((points_of(result) == Points{{"0a", 6}, {"0a", 7}, {"0a", 7}, {"0a", 7}}));
  }
}
