// Tests that a stop or a failure at any moment loses nothing of a followed log.
#include <chrono>
#include <new>
#include <stdexcept>
#include <thread>

#include "decode/crew.hpp"
#include "live/store.hpp"
#include "live/watched_paths.hpp"
#include "tests/live_logs.hpp"

TEST(a_stopped_poll_continues_with_the_next) {
  const TestFile file(log(0, 100, 10));
  bool fails = true;
  tbq::DecodeOptions asked = options();
  asked.select = [&](uint32_t, std::string_view) {
    if (fails) throw std::runtime_error("stopped");
    return true;
  };
  tbq::Store store(asked);
  store.set_files({"a"}, {{file.path(), 0}});
  bool thrown = false;
  try {
    next_update(store);
  } catch (const std::runtime_error&) {
    thrown = true;
  }
  fails = false;
  CHECK(thrown && next_update(store)->added.scalar_rows() == 100 &&
        next_update(store)->added.scalar_rows() == 0);
  CHECK(store.everything(asked.kinds).scalar_rows() == 100);
}

TEST(a_crew_does_each_job_once_and_says_what_failed) {
  std::atomic<int> done[50] = {};
  tbq::Crew crew;
  crew.run(50, 3, [&](unsigned worker, size_t job) { done[job] += worker < 3 ? 1 : 100; }, {});
  for (const auto& count : done) CHECK(count == 1);
  bool thrown = false;
  tbq::Crew failing;
  try {
    failing.run(50, 2,
                [](unsigned, size_t job) {
                  if (job == 7) throw std::runtime_error("seven");
                },
                {});
  } catch (const std::runtime_error&) {
    thrown = true;
  }
  CHECK(thrown);
}

TEST(a_crew_is_stopped_wherever_it_works) {
  for (const unsigned threads : {0U, 2U}) {
    tbq::Crew crew;
    int ticks = 0;
    // A job that ends only when it is asked to stop.
    const auto wait = [&](unsigned, size_t) {
      while (!crew.stop().is_set()) std::this_thread::yield();
    };
    CHECK(!crew.run(3, threads, wait, [&] { return ++ticks < 2; }));
    CHECK(ticks == 2);
    tbq::Crew failing;
    bool thrown = false;
    try {
      failing.run(
          3, threads,
          [&](unsigned, size_t) {
            while (!failing.stop().is_set()) std::this_thread::yield();
          },
          []() -> bool { throw std::bad_alloc(); });
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    CHECK(thrown);
  }
}

TEST(an_update_is_returned_until_it_is_confirmed) {
  const TestFile file(log(0, 5, 10));
  tbq::Store store(options());
  store.set_files({"a"}, {{file.path(), 0}});
  CHECK(!store.has_update());
  const std::shared_ptr<tbq::Update> first = store.poll();
  file.write(log(0, 9, 10));
  CHECK(store.poll() == first && first->added.scalar_rows() == 5 && store.has_update());
  store.received(*first);
  CHECK(!store.has_update());
  const std::shared_ptr<tbq::Update> second = store.poll();
  store.received(*first);  // a second time: it is no longer the current update
  CHECK(second->added.scalar_rows() == 4 && store.poll() == second);
}

TEST(a_stop_at_any_moment_loses_nothing) {
  // Damage to search past, an unfinished record, a large record, and a plugin that is known late.
  using namespace bytes;
  const std::string text = message(8, std::string(6000, 't'));
  const auto tensor = [](double wall, int64_t step, const std::string& more) {
    return record(event(wall, step, summary(message(1, "late") + message(8, bytes::number(1, 2)) + more)));
  };
  const std::string first = log(0, 5, 10) + tensor(15, 5, "");
  std::string damaged = more(6, 20, 10);
  damaged[damaged.size() / 2] ^= 4;
  const std::string then = first + damaged + std::string(300, '\x5a') + tensor(31, 21, metadata("scalars")) +
                           record(event(40, 30, summary(message(1, "t") + text))) + more(31, 40, 10) +
                           more(50, 51, 10).substr(0, 20);
  tbq::DecodeOptions asked = options();
  asked.kinds = tbq::kEveryKind;
  asked.defer = true;
  asked.split = 300;
  for (const bool replaced : {false, true}) {
    int stopped = 0;
    for (int moment = 0;; ++moment) {
      const TestFile file(first);
      tbq::LiveRun run("a", asked);
      tbq::LiveReader reader(asked);
      CountedRows rows;
      uint64_t retracted = 0;
      // Reads and delivers, unless it is stopped at its n-th question.
      const auto poll = [&](int n) {
        tbq::StopFlag stop;
        stop.poll_by(
            [&] {
              if (n-- == 0) stop.set();
            },
            std::chrono::milliseconds(0));
        uint64_t bytes = 0;
        if (!run.find_new_bytes(bytes)) return true;
        std::vector<tbq::LiveRun::AheadJob> jobs;
        run.plan_ahead(reader.reader, jobs);
        for (const auto& job : jobs) run.read_ahead(reader, stop, job);
        if (!stop.is_set()) run.read(reader, stop);
        if (stop.is_set()) return false;
        tbq::RunsUpdate update;
        run.update(reader, {false, nullptr}, update);
        run.commit();
        tbq::Result result;
        update.rows->finish();
        tbq::append_rows(result, *update.rows);
        add_rows(rows, result, {"a"});
        for (const tbq::RetractedRow& row : update.retracted) {
          if (row.kind != tbq::Kind::scalars) continue;
          ++retracted;
          const auto found = rows.find({row.run, row.tag, row.step, row.value});
          CHECK(found != rows.end());
          if (found != rows.end() && --found->second == 0) rows.erase(found);
        }
        run.merge_parts(reader, nullptr, stop);
        return true;
      };
      run.set_files(std::vector<tbq::FileSpec>{{file.path(), 0}});
      CHECK(poll(-1));
      file.write(replaced ? log(0, 2, 99) + then.substr(first.size()) : then);
      const bool completed = poll(moment);
      stopped += completed ? 0 : 1;
      if (!completed) CHECK(poll(-1));
      const CountedRows want = counted_rows(tbq::decode({{file.path(), 0}}, asked), {"a"});
      CHECK(rows == want && (replaced || retracted == 0));
      if (completed) break;
    }
    CHECK(stopped > 10);
  }
}

TEST(directories_that_change_are_noticed_at_any_moment) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / ("tbq_watched_" + std::to_string(std::random_device{}()));
  fs::create_directories(root);
  tbq::WatchedPaths watched;
  CHECK(!watched.changed());
  watched.set({root.string()});
  CHECK(watched.changed());  // the path is new
  for (int i = 0; i < 100; ++i) {
    fs::create_directory(root / std::to_string(i));  // within one tick of the file system's clock
    CHECK(watched.changed());
    watched.set({root.string()});
  }
  fs::remove_all(root);
  CHECK(watched.changed());
}
