#include "decode/decode.hpp"

#include <cerrno>
#include <memory>
#include <stdexcept>

#include "tables/scalars.hpp"
#include "tables/series_table.hpp"
#include "tables/session_tables.hpp"
#include "tests/bytes.hpp"
#include "tests/check.hpp"
#include "tests/files.hpp"

namespace {

using Rows = std::vector<std::pair<std::string, int64_t>>;

Rows rows_of(const tbq::Result& result) {
  Rows rows;
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
  tbq::DecodeOptions made;
  made.kinds = tbq::bit(tbq::Kind::scalars);
  return made;
}

}  // namespace

TEST(runs_come_in_order_and_files_of_a_run_are_joined) {
  const TestFile first(log(0, 5, 10)), second(log(3, 6, 20)), other(log(0, 2, 5, "acc"));
  for (const unsigned threads : {1U, 2U, 7U}) {
    tbq::DecodeOptions asked = options();
    asked.threads = threads;
    asked.split = 60;
    const tbq::Result result = tbq::decode({{second.path(), 0}, {first.path(), 0}, {other.path(), 1}}, asked);
    CHECK((rows_of(result) == Rows{{"0loss", 0},
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

TEST(what_a_file_is_goes_into_its_report) {
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

TEST(a_packed_file_is_read_from_where_it_was_unpacked) {
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
  tbq::export_scalars(result, {}, &stream);
  ArrowArray array;
  CHECK(stream.get_next(&stream, &array) == 0 && !array.release);
  stream.release(&stream);
}

TEST(columns_that_nobody_wants_are_not_made) {
  const TestFile file(log(0, 6000, 10) + log(100, 104, 20));
  tbq::DecodeOptions asked = options();
  asked.columns = 1U << static_cast<unsigned>(tbq::ScalarColumn::step) |
                  1U << static_cast<unsigned>(tbq::ScalarColumn::value);
  tbq::Result result = tbq::decode({{file.path(), 0}}, asked);
  CHECK(result.scalar_rows() == 104);
  ArrowArrayStream stream{};
  tbq::export_scalars(result, {"run"}, &stream);
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
