// Shared by the tests of following: logs that grow, and the rows of a store, counted.
#pragma once

#include <filesystem>
#include <map>
#include <memory>

#include "live/store.hpp"
#include "tests/bytes.hpp"
#include "tests/check.hpp"
#include "tests/files.hpp"

namespace {

using tbq::FileChange;
using tbq::Stretches;
// Run, tag, step and value of each row, and how often the row occurs.
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
  tbq::DecodeOptions chosen;
  chosen.kinds = tbq::bit(tbq::Kind::scalars);
  chosen.restarts = restarts;
  chosen.threads = 2;
  return chosen;
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

// Returns the next update and confirms it.
std::shared_ptr<tbq::Update> next_update(tbq::Store& store, bool rows = true, uint64_t most = UINT64_MAX) {
  std::shared_ptr<tbq::Update> update = store.poll(rows, most);
  store.received(*update);
  return update;
}

// Everything that a store returned so far.
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
