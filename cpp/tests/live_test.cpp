// Tests following a log: files that grow, are replaced, merge, restart and disappear.
#include <random>

#include "decode/delivered.hpp"
#include "live/store.hpp"
#include "tests/live_logs.hpp"

TEST(stretches_are_subtracted) {
  CHECK((tbq::minus({{0, 10}}, {}) == Stretches{{0, 10}}));
  CHECK((tbq::minus({}, {{0, 10}}).empty()));
  CHECK((tbq::minus({{0, 10}}, {{0, 10}}).empty()));
  CHECK((tbq::minus({{0, 10}}, {{3, 4}, {6, 20}}) == Stretches{{0, 3}, {4, 6}}));
  CHECK((tbq::minus({{2, 4}, {6, 8}}, {{3, 7}}) == Stretches{{2, 3}, {7, 8}}));
  CHECK((tbq::minus({{2, 4}, {6, 8}, {9, 12}}, {{0, 1}, {4, 6}, {10, 11}}) ==
         Stretches{{2, 4}, {6, 8}, {9, 10}, {11, 12}}));
  CHECK((tbq::minus({{0, 2}, {2, 5}}, {{1, 3}}) == Stretches{{0, 1}, {3, 5}}));
  // Compares all sets of rows below eight with bit operations.
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
  CHECK(merged_bytes < uint64_t{5000} * 100 * 20);  // each byte is read only a few times again
  CHECK(parts.front()->begin == 0 && parts.back()->stopped == 500'000);
  for (size_t i = 1; i < parts.size(); ++i) CHECK(parts[i]->begin == parts[i - 1]->stopped);
}

TEST(a_growing_file_is_continued) {
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

TEST(many_new_bytes_are_read_in_pieces) {
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
  // No run is forgotten while another run grows as fast as it is read.
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

TEST(changes_of_a_file_are_reported) {
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
  file.write(log(0, 50, 77));  // longer, but another file
  CHECK((following.poll({"a"}, files) == Changes{FileChange::replaced} && following.retracted == 3));
  CHECK((following.poll({}, {}) == Changes{FileChange::gone} && following.retracted == 50));
  CHECK((following.poll({"b"}, files) == Changes{FileChange::added}));
  std::filesystem::remove(file.path());
  CHECK((following.poll({"b"}, files) == Changes{FileChange::gone} && following.retracted == 50));
  CHECK(following.poll({"b"}, files).empty());
  file.write(log(0, 2, 10));
  CHECK((following.poll({"b"}, files) == Changes{FileChange::replaced} && following.retracted == 0));
}

TEST(a_restart_retracts_the_rows_it_replaces) {
  const TestFile first(log(0, 10, 10)), second(log(7, 8, 100));
  Following following(options());
  following.poll({"a"}, {{first.path(), 0}});
  following.poll({"a"}, {{first.path(), 0}, {second.path(), 0}});
  CHECK(following.retracted == 3);
  following.poll({"a"}, {{first.path(), 0}});  // a file that comes back is new
  CHECK(following.retracted == 1);
}

TEST(a_store_always_has_the_rows_of_decode) {
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
          data += bytes::record(bytes::version(wall));  // different contents never have the same size
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

TEST(copies_are_ordered_by_the_names_of_their_originals) {
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
    // Step 12 of the file with the later name hides the rest of the earlier file.
    const bool other_is_later = (&other == &low) == reversed;
    CHECK(store.everything(tbq::kEveryKind).scalar_rows() == (other_is_later ? 15U : 20U));
    tbq::DecodeOptions asked = options(tbq::Restarts::tensorboard);
    CHECK(tbq::decode({spec(one), spec(other)}, asked).scalar_rows() == (other_is_later ? 15U : 20U));
  }
}

TEST(a_poll_without_rows_returns_none_but_reads_all) {
  TestFile one(log(0, 20, 10));
  TestFile other(log(0, 20, 10));
  const TestFile& first = one.path() < other.path() ? one : other;  // TensorBoard orders files by path
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

TEST(a_file_that_was_overwritten_and_grew_is_read_from_its_start) {
  // A bit flips before the end, or in the header after the settled bytes, while more is appended.
  std::string data = log(0, 20, 10);
  const size_t settled = data.size();
  data += more(20, 22, 10).substr(0, 30);  // the next record is unfinished
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

TEST(pieces_of_a_large_file_give_the_same_rows) {
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
    CHECK(following.retracted == 50 || following.retracted == 49);  // one of the rows may be the damaged one
  }
}

TEST(an_exact_tag_name_wins_over_a_pattern) {
  tbq::Exactly exactly;
  exactly.is_pattern = [](const std::string& tag) { return tag == "l[o]ss"; };
  exactly.hidden = [](tbq::Kind, const std::vector<std::string>& tags) {
    std::vector<std::string> other_tags;
    for (const std::string& tag : tags) {
      if (tag != "l[o]ss") other_tags.push_back(tag);
    }
    return other_tags;
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
  CHECK(latest[0].earlier_rows == 3);
  CHECK(store.run(0).latest(50)[0].earlier_step == 0 && store.run(0).latest(50)[0].earlier_rows == 9);
  // A session that takes over from step 7 on; speed is measured within it.
  store.set_files({"a"}, {{first.path(), 0}, {second.path(), 0}});
  next_update(store);
  latest = store.run(0).latest(3);
  CHECK(latest.size() == 1 && latest[0].count == 9 && latest[0].step == 8 && latest[0].wall_time == 108);
  CHECK(latest[0].earlier_step == 7 && latest[0].earlier_rows == 1 && latest[0].takeovers.size() == 1);
  CHECK(latest[0].takeovers[0] == std::pair(int64_t{7}, 107.0));
  CHECK(store.run(0).times() == std::pair(10.0, 108.0));
}

TEST(rows_are_in_the_order_of_runs_when_other_series_are_visible) {
  using namespace bytes;
  const auto file = [](const std::string& tag) {
    return record(version(10)) + record(scalar(tag, 1, 1, 11));
  };
  const TestFile first(file("loss0")), second(file("loss[0]")), third(file("loss0"));
  tbq::Exactly exactly;
  exactly.is_pattern = [](const std::string& tag) { return tag == "loss[0]"; };
  exactly.hidden = [](tbq::Kind, const std::vector<std::string>&) {
    return std::vector<std::string>{"loss0"};
  };
  tbq::Store store(options(), exactly);
  const std::vector<std::string> runs{"a", "b", "c"};
  store.set_files(runs, {{first.path(), 0}, {second.path(), 1}, {third.path(), 2}});
  CHECK(next_update(store)->added.scalar_rows() == 1);
  // The second run has another tag now, so the others show theirs again.
  second.write(file("loss1"));
  const std::shared_ptr<tbq::Update> update = next_update(store);
  CHECK(update->added.scalar_rows() == 3 && update->retracted.size() == 1);
  std::vector<uint32_t> order;
  for (const tbq::SeriesReport& series : update->added.series) order.push_back(series.run);
  CHECK(order == std::vector<uint32_t>({0, 1, 2}));
}
