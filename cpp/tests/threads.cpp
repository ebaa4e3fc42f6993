// Decodes with eight threads, for the build under ThreadSanitizer: many files, one file in parts, a decode
// that is stopped midway, streams read on other threads. A separate program; it compares results too.
#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "decode/decode.hpp"
#include "fuzz/rows.hpp"
#include "io/memory_file.hpp"
#include "io/slab.hpp"
#include "live/store.hpp"
#include "live/watched_paths.hpp"
#include "tables/kinds.hpp"
#include "tests/bytes.hpp"
#include "tests/check.hpp"
#include "tests/files.hpp"

namespace {

constexpr unsigned kThreads = 8;

// Scalars, histograms that become columns, large texts, a restart and damage.
std::string log_file(int64_t steps, double wall) {
  using namespace bytes;
  std::string file = record(version(wall));
  const std::string histogram = number(1, 2) +
                                message(2, message(2, number(1, 2)) + message(2, number(1, 3))) +
                                message(4, std::string(48, '\1'));
  const std::string text =
      number(1, 7) + message(2, message(2, number(1, 1))) + message(8, std::string(6000, 't'));
  for (int64_t step = 0; step < steps; ++step) {
    const double now = wall + 1 + static_cast<double>(step);
    file += record(scalar("loss", step, 0.5F, now)) + record(scalar("accuracy", step, 0.25F, now));
    file +=
        record(event(now, step, summary(message(1, "h") + message(8, histogram) + metadata("histograms"))));
    if (step % 50 == 7) {
      file += record(event(now, step, summary(message(1, "t") + message(8, text) + metadata("text"))));
    }
    if (step == steps / 3) file += std::string(40, '\0');
    if (step == steps / 2) file += record(version(now));
  }
  return file;
}

tbq::DecodeOptions options(unsigned threads) {
  tbq::DecodeOptions chosen;
  chosen.threads = threads;
  chosen.skippable = 0;
  chosen.kinds = ~tbq::Kinds{0};
  chosen.split = 20000;
  chosen.block = 4096;
  return chosen;
}

// Reads every table of a result, each on its own thread.
int64_t drain_in_threads(const tbq::Result& result) {
  std::atomic<int64_t> rows = 0;
  std::vector<std::thread> readers;
  for (const std::string& name : tbq::table_names()) {
    readers.emplace_back([&, name] {
      ArrowArrayStream stream{};
      tbq::export_table(result, *tbq::table_kind(name), {"run"}, nullptr, nullptr, result.value_problems,
                        &stream);
      for (;;) {
        ArrowArray array;
        CHECK(stream.get_next(&stream, &array) == 0);
        if (!array.release) break;
        rows += array.length;
        array.release(&array);
      }
      stream.release(&stream);
    });
  }
  for (std::thread& reader : readers) reader.join();
  return rows;
}

}  // namespace

TEST(many_files_in_eight_threads) {
  std::vector<std::unique_ptr<TestFile>> files;
  std::vector<tbq::FileSpec> specs;
  for (uint32_t i = 0; i < 200; ++i) {
    files.push_back(std::make_unique<TestFile>(log_file(20 + i % 30, 1e9 + i)));
    specs.push_back({files.back()->path(), i / 3});
  }
  for (const auto restarts : {tbq::Restarts::resume, tbq::Restarts::last}) {
    for (const bool session_tables : {false, true}) {
      tbq::DecodeOptions chosen = options(kThreads);
      chosen.restarts = restarts;
      chosen.session_tables = session_tables;
      std::atomic<int> asked = 0;
      chosen.select = [&](uint32_t, std::string_view tag) {
        ++asked;
        return tag != "accuracy";
      };
      const tbq::Result many = tbq::decode(specs, chosen);
      chosen.threads = 1;
      const tbq::Result single_threaded = tbq::decode(specs, chosen);
      CHECK(reported(many, true) == reported(single_threaded, true));
      CHECK(many.scalar_rows() == single_threaded.scalar_rows() && many.scalar_rows() > 0);
    }
  }
}

TEST(one_file_in_eight_parts) {
  const tbq::MemoryFile file(log_file(2000, 1e9));
  for (const auto restarts : {tbq::Restarts::resume, tbq::Restarts::keep, tbq::Restarts::tensorboard}) {
    for (const bool defer : {false, true}) {
      tbq::DecodeOptions chosen = options(kThreads);
      chosen.restarts = restarts;
      chosen.defer = defer;
      tbq::Result parts = tbq::decode({{file.path(), 0}}, chosen);
      chosen.threads = 1;
      tbq::Result at_once = tbq::decode({{file.path(), 0}}, chosen);
      CHECK(reported(parts, true) == reported(at_once, true));
      CHECK(rows_of(parts, file) == rows_of(at_once, file));
      parts.value_problems = std::make_shared<tbq::ValueProblems>();
      at_once.value_problems = std::make_shared<tbq::ValueProblems>();
      CHECK(drain_in_threads(parts) == drain_in_threads(at_once));
    }
  }
}

TEST(a_decode_is_stopped_midway) {
  const tbq::MemoryFile file(log_file(6000, 1e9));
  for (int stops = 0; stops < 3; ++stops) {
    tbq::DecodeOptions chosen = options(kThreads);
    chosen.count_bytes = true;
    std::atomic<bool> ended = false;
    int ticks = 0;
    chosen.tick = [&](const tbq::Progress& progress) {
      CHECK(progress.bytes <= progress.total_bytes && !ended);
      return ticks++ < stops;
    };
    const tbq::Result result = tbq::decode({{file.path(), 0}, {file.path(), 1}, {file.path(), 2}}, chosen);
    ended = true;
    CHECK(result.cancelled);
  }
  tbq::DecodeOptions failing = options(kThreads);
  failing.select = [](uint32_t, std::string_view) -> bool { throw std::runtime_error("no"); };
  bool caught = false;
  try {
    tbq::decode({{file.path(), 0}, {file.path(), 1}}, failing);
  } catch (const std::runtime_error&) {
    caught = true;
  }
  CHECK(caught);
}

TEST(a_directory_is_followed_by_eight_threads) {
  std::vector<std::unique_ptr<TestFile>> files;
  std::vector<tbq::FileSpec> specs;
  std::vector<std::string> runs;
  for (uint32_t i = 0; i < 20; ++i) {
    files.push_back(std::make_unique<TestFile>(""));
    specs.push_back({files.back()->path(), i});
    runs.push_back(std::to_string(i));
  }
  tbq::Store store(options(kThreads));
  store.set_files(runs, specs);
  uint64_t delivered = 0;
  for (int steps = 10; steps <= 90; steps += 20) {
    for (const auto& file : files) file->write(log_file(60, 1e9) + log_file(steps, 2e9));
    const std::shared_ptr<tbq::Update> update = store.poll();
    delivered += update->added.scalar_rows() + update->added.series.size();
    store.received(*update);
  }
  CHECK(delivered > 0);
  CHECK(store.everything(~tbq::Kinds{0}).scalar_rows() ==
        tbq::decode(specs, options(kThreads)).scalar_rows());
}

TEST(directories_are_listed_while_they_are_watched) {
  const TestFile file("");
  tbq::WatchedPaths watched;
  std::atomic<bool> ended = false;
  std::thread looks([&] {
    while (!ended) watched.changed();
  });
  for (int i = 0; i < 200; ++i)
    watched.set(std::vector<std::string>(static_cast<size_t>(i % 7), file.path()));
  ended = true;
  looks.join();
  CHECK(watched.changed());
}

TEST(results_of_several_threads_share_the_slabs) {
  const tbq::MemoryFile file(log_file(1500, 1e9));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 3; ++k) {
        const tbq::Result result = tbq::decode({{file.path(), 0}}, options(2));
        CHECK(result.scalar_rows() > 0);
        if (k == 1) tbq::release_memory();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}
