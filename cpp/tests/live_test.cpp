#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <stdexcept>
#include <thread>

#include "decode/crew.hpp"
#include "decode/delivered.hpp"
#include "live/store.hpp"
#include "live/watched_paths.hpp"
#include "tests/bytes.hpp"
#include "tests/check.hpp"
#include "tests/files.hpp"

namespace {

using tbq::FileChange;
using tbq::Stretches;
// Run, tag, step and value of each row, and how often it is there.
using CountedRows = std::map<std::tuple<std::string, std::string, int64_t, double>, int>;

void add_rows(CountedRows& rows, const tbq::Result& result, const std::vector<std::string>& runs) {
  for (const tbq::ScalarBatch& batch : result.scalars) {
    size_t at = 0;
    for (const auto& stretch : batch.stretches) {
      const tbq::SeriesReport& series = result.series[stretch.series];
      for (uint32_t i = 0; i < stretch.rows; ++i, ++at)
        ++rows[{runs[series.run], series.tag, batch.steps[at], batch.values[at]}];
    }
  }
}

CountedRows counted_rows(const tbq::Result& result, const std::vector<std::string>& runs) {
  CountedRows rows;
  add_rows(rows, result, runs);
  return rows;
}

tbq::DecodeOptions options(tbq::Restarts restarts = tbq::Restarts::resume) {
  tbq::DecodeOptions made;
  made.kinds = tbq::bit(tbq::Kind::scalars);
  made.restarts = restarts;
  made.threads = 2;
  return made;
}

std::string log(int first, int last, double wall) {
  std::string file = bytes::record(bytes::version(wall));
  for (int step = first; step < last; ++step)
    file += bytes::record(bytes::scalar("loss", step, static_cast<float>(step), wall + step));
  return file;
}

std::string more(int first, int last, double wall) {
  return log(first, last, wall).substr(bytes::record(bytes::version(wall)).size());
}

// What is new, and is not given again.
std::shared_ptr<tbq::Update> next_update(tbq::Store& store, bool rows = true, uint64_t most = UINT64_MAX) {
  std::shared_ptr<tbq::Update> update = store.poll(rows, most);
  store.taken(*update);
  return update;
}

// What a store gave so far.
class Following {
 public:
  explicit Following(tbq::DecodeOptions asked) : options_(asked), store_(asked) {}

  // Polls, about `most` bytes at a time, and compares with a fresh decode.
  std::vector<FileChange> poll(const std::vector<std::string>& runs, const std::vector<tbq::FileSpec>& files,
                               uint64_t most = UINT64_MAX) {
    store_.set_files(runs, files);
    std::vector<FileChange> changes;
    retracted = polls = 0;
    for (uint64_t left = 1; left > 0; ++polls) {
      const std::shared_ptr<tbq::Update> update = next_update(store_, true, most);
      for (const tbq::RetractedRow& row : update->retracted) {
        const auto found = rows_.find({row.run, row.tag, row.step, row.value});
        CHECK(found != rows_.end());
        if (found != rows_.end() && --found->second == 0) rows_.erase(found);
      }
      retracted += update->retracted.size();
      add_rows(rows_, update->added, runs);
      for (const tbq::LiveChange& change : update->changes) changes.push_back(change.what);
      left = update->left;
    }
    tbq::DecodeOptions asked = options_;
    asked.verify = true;
    const CountedRows want = counted_rows(tbq::decode(files, asked), runs);
    CHECK(rows_ == want);
    CHECK(counted_rows(store_.everything(asked.kinds), runs) == want);
    return changes;
  }
  size_t retracted = 0;
  size_t polls = 0;

 private:
  tbq::DecodeOptions options_;
  tbq::Store store_;
  CountedRows rows_;
};

}  // namespace

TEST(stretches_without_others) {
  CHECK((tbq::minus({{0, 10}}, {}) == Stretches{{0, 10}}));
  CHECK((tbq::minus({}, {{0, 10}}).empty()));
  CHECK((tbq::minus({{0, 10}}, {{0, 10}}).empty()));
  CHECK((tbq::minus({{0, 10}}, {{3, 4}, {6, 20}}) == Stretches{{0, 3}, {4, 6}}));
  CHECK((tbq::minus({{2, 4}, {6, 8}}, {{3, 7}}) == Stretches{{2, 3}, {7, 8}}));
  CHECK((tbq::minus({{2, 4}, {6, 8}, {9, 12}}, {{0, 1}, {4, 6}, {10, 11}}) ==
         Stretches{{2, 4}, {6, 8}, {9, 10}, {11, 12}}));
  CHECK((tbq::minus({{0, 2}, {2, 5}}, {{1, 3}}) == Stretches{{0, 1}, {3, 5}}));
  // All sets of rows below eight, against bits.
  const auto stretches_of = [](unsigned bits) {
    Stretches out;
    for (unsigned row = 0; row < 8; ++row) {
      if ((bits >> row & 1) == 0) continue;
      if (!out.empty() && out.back().end == row) {
        ++out.back().end;
      } else {
        out.push_back({row, row + 1});
      }
    }
    return out;
  };
  bool same = true;
  for (unsigned from = 0; from < 256; ++from) {
    for (unsigned without = 0; without < 256; ++without) {
      same = same && tbq::minus(stretches_of(from), stretches_of(without)) == stretches_of(from & ~without);
    }
  }
  CHECK(same);
}

TEST(parts_are_merged_before_there_are_many) {
  tbq::Parts parts;
  size_t most = 0;
  uint64_t merged_bytes = 0;
  for (uint64_t i = 0; i < 5000; ++i) {
    auto part = std::make_shared<tbq::Part>();
    part->begin = i * 100;
    part->stopped = (i + 1) * 100;
    parts.push_back(part);
    const size_t first = tbq::parts_to_merge(parts);
    if (first < parts.size()) {
      auto all = std::make_shared<tbq::Part>();
      all->begin = parts[first]->begin;
      all->stopped = parts.back()->stopped;
      merged_bytes += all->stopped - all->begin;
      parts.resize(first);
      parts.push_back(all);
    }
    most = std::max(most, parts.size());
  }
  CHECK(most < 40);
  CHECK(merged_bytes < uint64_t{5000} * 100 * 20);  // each byte is read again a few times
  CHECK(parts.front()->begin == 0 && parts.back()->stopped == 500'000);
  for (size_t i = 1; i < parts.size(); ++i) CHECK(parts[i]->begin == parts[i - 1]->stopped);
}

TEST(a_file_that_grows_is_read_on) {
  const std::string data = log(0, 30, 10);
  TestFile file("");
  Following following(options());
  for (size_t size = 0; size <= data.size(); size += 7) {
    file.write(data.substr(0, size));
    following.poll({"a"}, {{file.path(), 0}});
    CHECK(following.retracted == 0 || size < 200);
  }
  file.write(data);
  following.poll({"a"}, {{file.path(), 0}});
  CHECK(following.poll({"a"}, {{file.path(), 0}}).empty());
}

TEST(much_that_is_new_is_read_in_pieces) {
  const std::string data = log(0, 300, 10);
  const TestFile first(data), second(log(0, 50, 10) + "damage" + more(50, 90, 10)), third(log(0, 9, 10));
  const std::vector<tbq::FileSpec> files{{first.path(), 0}, {second.path(), 0}, {third.path(), 1}};
  for (const uint64_t most : {uint64_t{1}, uint64_t{1000}, data.size() + 1, uint64_t{1} << 30}) {
    for (const uint64_t split : {uint64_t{400}, uint64_t{1} << 30}) {
      tbq::DecodeOptions asked = options();
      asked.split = split;
      Following following(asked);
      following.poll({"a", "b"}, files, most);
      CHECK(following.retracted == 0);
      CHECK(most > 1 || following.polls > 300);
      CHECK(most != 1000 || (following.polls > 10 && following.polls < 50));
      CHECK(most <= 1000 || following.polls <= 3);
      CHECK(following.poll({"a", "b"}, files, most).empty());
    }
  }
  // None of them is forgotten while another one grows as fast as it is read.
  tbq::Store store(options());
  const TestFile grows(log(0, 10, 10));
  store.set_files({"a", "b"}, {{grows.path(), 0}, {third.path(), 1}});
  std::string longer = log(0, 10, 10);
  size_t from_other = 0;
  for (int step = 10; step < 40; ++step) {
    const std::shared_ptr<tbq::Update> update = next_update(store, true, 100);
    for (const tbq::LiveChange& change : update->changes) from_other += change.run == "b" ? 1 : 0;
    longer += more(step * 10, step * 10 + 10, 10);
    grows.write(longer);
  }
  CHECK(from_other > 0);
}

TEST(what_became_of_a_file) {
  const TestFile file(log(0, 5, 10));
  Following following(options());
  const std::vector<tbq::FileSpec> files{{file.path(), 0}};
  using Changes = std::vector<FileChange>;
  CHECK((following.poll({"a"}, files) == Changes{FileChange::added}));
  CHECK(following.poll({"a"}, files).empty());
  file.write(log(0, 5, 10) + more(5, 9, 10));
  CHECK((following.poll({"a"}, files) == Changes{FileChange::grown} && following.retracted == 0));
  file.write(log(0, 3, 10));
  CHECK((following.poll({"a"}, files) == Changes{FileChange::replaced} && following.retracted == 9));
  file.write(log(0, 50, 77));  // longer, but another one
  CHECK((following.poll({"a"}, files) == Changes{FileChange::replaced} && following.retracted == 3));
  CHECK((following.poll({}, {}) == Changes{FileChange::gone} && following.retracted == 50));
  CHECK((following.poll({"b"}, files) == Changes{FileChange::added}));
  std::filesystem::remove(file.path());
  CHECK((following.poll({"b"}, files) == Changes{FileChange::gone} && following.retracted == 50));
  CHECK(following.poll({"b"}, files).empty());
  file.write(log(0, 2, 10));
  CHECK((following.poll({"b"}, files) == Changes{FileChange::replaced} && following.retracted == 0));
}

TEST(a_restart_retracts_what_it_overtook) {
  const TestFile first(log(0, 10, 10)), second(log(7, 8, 100));
  Following following(options());
  following.poll({"a"}, {{first.path(), 0}});
  following.poll({"a"}, {{first.path(), 0}, {second.path(), 0}});
  CHECK(following.retracted == 3);
  following.poll({"a"}, {{first.path(), 0}});  // and what comes back is new
  CHECK(following.retracted == 1);
}

TEST(whatever_happens_a_store_has_what_decode_gives) {
  std::mt19937 random(1);
  const auto below = [&](unsigned count) { return static_cast<int>(random() % count); };
  for (const auto policy :
       {tbq::Restarts::resume, tbq::Restarts::keep, tbq::Restarts::last, tbq::Restarts::tensorboard}) {
    const TestFile files[] = {TestFile(""), TestFile(""), TestFile("")};
    std::string held[3];
    Following following(options(policy));
    double wall = 10;
    for (int round = 0; round < 60; ++round) {
      const int which = below(3);
      std::string& data = held[which];
      wall += below(8) == 0 ? -30 : 10;
      switch (below(8)) {
        case 0:
          data += log(below(10), 10, wall);
          break;
        case 1:
          data.resize(static_cast<size_t>(below(static_cast<unsigned>(data.size()) + 1)));
          data += bytes::record(bytes::version(wall));  // no two contents of one size are alike
          break;
        case 2:
          data = log(0, below(12), wall);
          break;
        case 3: {
          std::string damaged = more(below(10), 10, wall);
          if (!damaged.empty())
            damaged[static_cast<size_t>(below(static_cast<unsigned>(damaged.size())))] ^= 4;
          data += damaged;
          break;
        }
        case 4:
          data += std::string(static_cast<size_t>(below(60)), '\0');
          break;
        default:
          data += more(below(6), 10, wall);
          break;
      }
      files[which].write(data);
      if (below(3) == 0) continue;
      std::vector<tbq::FileSpec> listed{{files[0].path(), 0}, {files[1].path(), 0}};
      if (below(4) != 0) listed.push_back({files[2].path(), 1});
      following.poll({"a", "b"}, listed);
    }
  }
}

TEST(what_was_stopped_goes_on_with_the_next_poll) {
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

TEST(copies_are_ordered_by_the_names_of_what_they_stand_for) {
  TestFile one(log(0, 20, 10));
  TestFile other(log(12, 15, 10));
  const TestFile& low = one.path() < other.path() ? one : other;
  for (const bool reversed : {false, true}) {
    const auto spec = [&](const TestFile& file) {
      return tbq::FileSpec{file.path(), 0, 0, UINT64_MAX, (&file == &low) == reversed ? "b" : "a"};
    };
    tbq::Store store(options(tbq::Restarts::tensorboard));
    store.set_files({"a"}, {spec(one), spec(other)});
    store.poll(false);
    // What the later name logged at step 12 hides the rest of the earlier one.
    const bool other_is_later = (&other == &low) == reversed;
    CHECK(store.everything(tbq::kEveryKind).scalar_rows() == (other_is_later ? 15U : 20U));
    tbq::DecodeOptions asked = options(tbq::Restarts::tensorboard);
    CHECK(tbq::decode({spec(one), spec(other)}, asked).scalar_rows() == (other_is_later ? 15U : 20U));
  }
}

TEST(a_poll_without_rows_gives_none_and_knows_all) {
  TestFile one(log(0, 20, 10));
  TestFile other(log(0, 20, 10));
  const TestFile& first = one.path() < other.path() ? one : other;  // TensorBoard's order is that of paths
  TestFile& second = one.path() < other.path() ? other : one;
  second.write(log(12, 15, 100));
  tbq::Store store(options(tbq::Restarts::tensorboard));
  store.set_files({"a"}, {{first.path(), 0}});
  const std::shared_ptr<tbq::Update> update = next_update(store, false);
  CHECK(update->added.scalar_rows() == 0 && update->retracted.empty() && update->changes.size() == 1);
  CHECK(store.everything(tbq::kEveryKind).scalar_rows() == 20);
  store.set_files({"a"}, {{first.path(), 0}, {second.path(), 0}});
  CHECK(next_update(store, false)->retracted.empty());
  const std::vector<tbq::SeriesListing> listed = store.run(0).listing();
  CHECK(listed.size() == 1 && listed[0].tag == "loss" && listed[0].count == 15 && listed[0].max_step == 14);
  CHECK(listed[0].field == tbq::ValueField::simple_value && listed[0].last_value == 14);
  CHECK(listed[0].max_wall_time == 114 && listed[0].first_wall_time == 10);
  CHECK(store.run(0).first_event() == 10);
  std::vector<int64_t> steps;
  for (const tbq::Points& points : store.points({0, "loss"}).points)
    steps.insert(steps.end(), points.steps, points.steps + points.count);
  CHECK(steps.size() == 15 && steps[11] == 11 && steps[12] == 12 && steps[14] == 14);
  CHECK(store.points({7, "loss"}).points.empty() && store.points({0, "none"}).points.empty());
  const std::vector<uint32_t> none;
  CHECK(store.everything(tbq::kEveryKind, &none).scalar_rows() == 0);
  store.set_files({}, {});
  CHECK(next_update(store, false)->retracted.empty() && store.everything(tbq::kEveryKind).scalar_rows() == 0);
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
    // A job that ends only when it is told to.
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

TEST(an_update_is_given_until_it_is_taken) {
  const TestFile file(log(0, 5, 10));
  tbq::Store store(options());
  store.set_files({"a"}, {{file.path(), 0}});
  CHECK(!store.has_update());
  const std::shared_ptr<tbq::Update> first = store.poll();
  file.write(log(0, 9, 10));
  CHECK(store.poll() == first && first->added.scalar_rows() == 5 && store.has_update());
  store.taken(*first);
  CHECK(!store.has_update());
  const std::shared_ptr<tbq::Update> second = store.poll();
  store.taken(*first);  // once more: it is not this one
  CHECK(second->added.scalar_rows() == 4 && store.poll() == second);
}

TEST(a_stop_at_any_moment_loses_nothing) {
  // Damage that is searched past, an unfinished record, a large one, and a plugin that is known late.
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
      // Reads and delivers, unless it is stopped when it asks for the n-th time.
      const auto poll = [&](int n) {
        tbq::StopFlag stop;
        stop.look_by(
            [&] {
              if (n-- == 0) stop.set();
            },
            std::chrono::milliseconds(0));
        uint64_t bytes = 0;
        if (!run.look(bytes)) return true;
        std::vector<tbq::LiveRun::AheadJob> jobs;
        run.plan_ahead(reader.reader, jobs);
        for (const auto& job : jobs) run.read_ahead(reader, stop, job);
        if (!stop.is_set()) run.read(reader, stop);
        if (stop.is_set()) return false;
        tbq::RunsUpdate made;
        run.update(reader, {false, nullptr}, made);
        run.commit();
        tbq::Result result;
        made.rows->finish();
        tbq::append_rows(result, *made.rows);
        add_rows(rows, result, {"a"});
        for (const tbq::RetractedRow& row : made.retracted) {
          if (row.kind != tbq::Kind::scalars) continue;
          ++retracted;
          const auto found = rows.find({row.run, row.tag, row.step, row.value});
          CHECK(found != rows.end());
          if (found != rows.end() && --found->second == 0) rows.erase(found);
        }
        run.merge_parts(reader, nullptr, stop);
        return true;
      };
      run.set_files({{file.path(), 0}});
      CHECK(poll(-1));
      file.write(replaced ? log(0, 2, 99) + then.substr(first.size()) : then);
      const bool whole = poll(moment);
      stopped += whole ? 0 : 1;
      if (!whole) CHECK(poll(-1));
      const CountedRows want = counted_rows(tbq::decode({{file.path(), 0}}, asked), {"a"});
      CHECK(rows == want && (replaced || retracted == 0));
      if (whole) break;
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
  CHECK(watched.changed());  // it is new
  for (int i = 0; i < 100; ++i) {
    fs::create_directory(root / std::to_string(i));  // within one tick of the clock of the file system
    CHECK(watched.changed());
    watched.set({root.string()});
  }
  fs::remove_all(root);
  CHECK(watched.changed());
}

TEST(a_file_that_changed_in_its_place_and_grew_is_read_anew) {
  // A bit that turns before the end, or in the header that follows what is settled, while more is appended.
  std::string data = log(0, 20, 10);
  const size_t settled = data.size();
  data += more(20, 22, 10).substr(0, 30);  // the record after it is not finished
  for (const size_t place : {settled - 1, settled - 40, settled + 3, size_t{20}}) {
    const TestFile file(data);
    Following following(options());
    following.poll({"a"}, {{file.path(), 0}});
    std::string changed = data + more(30, 40, 10);
    changed[place] ^= 4;
    file.write(changed);
    CHECK(following.poll({"a"}, {{file.path(), 0}}) == std::vector{FileChange::replaced});
  }
}

TEST(pieces_of_a_large_file_are_what_the_whole_is) {
  for (const uint64_t split : {uint64_t{1}, uint64_t{100}, uint64_t{1000}}) {
    tbq::DecodeOptions asked = options();
    asked.threads = 3;
    asked.split = split;
    std::string data = log(0, 100, 10);
    data[data.size() / 2] ^= 4;
    const TestFile file(data.substr(0, data.size() - 20));
    Following following(asked);
    following.poll({"a"}, {{file.path(), 0}});
    file.write(data + log(50, 150, 500));
    following.poll({"a"}, {{file.path(), 0}});
    CHECK(following.retracted == 50 || following.retracted == 49);  // one of them may be the damaged one
  }
}

TEST(a_tag_that_is_called_as_a_pattern_hides_the_others) {
  tbq::Exactly exactly;
  exactly.is_pattern = [](const std::string& tag) { return tag == "l[o]ss"; };
  exactly.hidden = [](tbq::Kind, const std::vector<std::string>& tags) {
    std::vector<std::string> others;
    for (const std::string& tag : tags) {
      if (tag != "l[o]ss") others.push_back(tag);
    }
    return others;
  };
  tbq::Store store(options(), exactly);
  const TestFile first(log(0, 5, 10)), second(log(0, 3, 10)), third("");
  const std::vector<std::string> runs{"a", "b", "c"};
  const std::vector<tbq::FileSpec> files{{first.path(), 0}, {second.path(), 1}, {third.path(), 2}};
  store.set_files(runs, files);
  CHECK(next_update(store)->added.scalar_rows() == 8);
  third.write(bytes::record(bytes::version(10)) + bytes::record(bytes::scalar("l[o]ss", 1, 1.0F, 11)));
  std::shared_ptr<tbq::Update> update = next_update(store);
  CHECK(update->added.scalar_rows() == 1 && update->retracted.size() == 8);
  first.write(log(0, 6, 10));
  update = next_update(store);
  CHECK(update->added.scalar_rows() == 0 && update->retracted.empty());
  CHECK(store.run(0).latest(1).empty() && store.run(2).latest(1).size() == 1);
  store.set_files({"a", "b"}, {files[0], files[1]});
  update = next_update(store);
  CHECK(update->added.scalar_rows() == 9 && update->retracted.size() == 1);
}

TEST(a_poll_without_rows_reads_all_the_same) {
  tbq::Store store(options());
  const TestFile file(log(0, 10, 10));
  store.set_files({"a"}, {{file.path(), 0}});
  std::shared_ptr<tbq::Update> update = next_update(store, false);
  CHECK(update->added.scalar_rows() == 0 && update->changes.size() == 1);
  CHECK(store.everything(options().kinds).scalar_rows() == 10);
  file.write(log(0, 12, 10));
  CHECK(next_update(store)->added.scalar_rows() == 2);
}

TEST(the_last_row_of_each_series) {
  tbq::Store store(options());
  const TestFile first(log(0, 10, 10)), second(log(7, 9, 100));
  store.set_files({"a"}, {{first.path(), 0}});
  next_update(store);
  std::vector<tbq::Latest> latest = store.run(0).latest(3);
  CHECK(latest.size() == 1 && latest[0].tag == "loss" && latest[0].kind == tbq::Kind::scalars);
  CHECK(latest[0].count == 10 && latest[0].step == 9 && latest[0].value == 9 && latest[0].wall_time == 19);
  CHECK(latest[0].earlier_step == 6 && latest[0].earlier_wall_time == 16 && latest[0].takeovers.empty());
  CHECK(store.run(0).latest(50)[0].earlier_step == 0);
  // A session that takes over: steps from 7 on are its own, and speed is measured within it.
  store.set_files({"a"}, {{first.path(), 0}, {second.path(), 0}});
  next_update(store);
  latest = store.run(0).latest(3);
  CHECK(latest.size() == 1 && latest[0].count == 9 && latest[0].step == 8 && latest[0].wall_time == 108);
  CHECK(latest[0].earlier_step == 7 && latest[0].takeovers.size() == 1);
  CHECK(latest[0].takeovers[0] == std::pair(int64_t{7}, 107.0));
  CHECK(store.run(0).times() == std::pair(10.0, 108.0));
}
