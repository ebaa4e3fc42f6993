#include "live/store.hpp"

#include <iterator>
#include <unordered_map>

#include "live/crew.hpp"

namespace tbq {

Store::Store(DecodeOptions options) : options_(std::move(options)) {
  options_.defer = true;
  readers_.push_back(std::make_unique<LiveReader>(options_));
}

void Store::set_files(const std::vector<std::string>& runs, const std::vector<FileSpec>& files) {
  std::unordered_map<std::string, std::unique_ptr<LiveRun>> known;
  for (auto& run : runs_) known.emplace(run->name(), std::move(run));
  runs_.clear();
  std::vector<std::vector<std::string>> paths(runs.size());
  for (const FileSpec& file : files) paths.at(file.run).push_back(file.path);
  for (uint32_t i = 0; i < runs.size(); ++i) {
    const auto found = known.find(runs[i]);
    const bool is_known = found != known.end() && found->second;
    auto run = is_known ? std::move(found->second) : std::make_unique<LiveRun>(runs[i], options_);
    run->index = i;
    run->set_files(paths[i]);
    runs_.push_back(std::move(run));
  }
  for (auto& [name, run] : known) {
    if (!run) continue;
    run->set_files({});
    gone_.push_back(std::move(run));
  }
}

Update Store::poll() {
  std::vector<LiveRun*> changed;
  for (const auto& run : gone_) changed.push_back(run.get());
  for (const auto& run : runs_) {
    if (run->look()) changed.push_back(run.get());
  }
  const size_t before = pending_.size();
  pending_.resize(before + changed.size());
  for (size_t i = 0; i < changed.size(); ++i) pending_[before + i].run = changed[i];
  while (readers_.size() < options_.threads) readers_.push_back(std::make_unique<LiveReader>(options_));
  {
    Crew crew;
    const auto tick = [this] { return !options_.tick || options_.tick({}); };
    crew.run(
        changed.size(), options_.threads,
        [&](unsigned worker, size_t i) {
          changed[i]->read(*readers_[worker], &crew.cancelled(), pending_[before + i].update);
        },
        tick);
  }
  Update update;
  for (Pending& pending : pending_) {
    RunUpdate& from = pending.update;
    std::move(from.retracted.begin(), from.retracted.end(), std::back_inserter(update.retracted));
    std::move(from.changes.begin(), from.changes.end(), std::back_inserter(update.changes));
    std::vector<uint32_t> places;
    pending.run->reports(update.added.files, places);
    if (!from.rows) continue;
    for (BlobTable& rows : from.rows->blobs) {
      for (BlobRow& row : rows) row.file = places[row.file];
    }
    append_rows(update.added, *from.rows);
  }
  join_short(update.added.scalars);
  pending_.clear();
  for (LiveRun* run : changed) run->merge_parts(*readers_[0]);
  gone_.clear();
  return update;
}

Result Store::everything(Kinds kinds) {
  Result result;
  DecodeOptions options = options_;
  options.kinds = kinds;
  Joiner joiner(options, readers_[0]->pool, nullptr, true);
  for (const auto& run : runs_) {
    size_t before[kKindCount];
    for (size_t kind = 0; kind < kKindCount; ++kind) before[kind] = joiner.blobs[kind].size();
    run->join_all(joiner);
    std::vector<uint32_t> places;
    run->reports(result.files, places);
    for (size_t kind = 0; kind < kKindCount; ++kind) {
      BlobTable& rows = joiner.blobs[kind];
      for (size_t row = before[kind]; row < rows.size(); ++row) rows[row].file = places[rows[row].file];
    }
  }
  joiner.finish();
  append_rows(result, joiner);
  return result;
}

}  // namespace tbq
