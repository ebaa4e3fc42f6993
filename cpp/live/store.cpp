#include "live/store.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "live/crew.hpp"

namespace tbq {
namespace {

constexpr uint64_t kMuch = uint64_t{4} << 20;  // after so many bytes memory is given back

}  // namespace

Store::Store(DecodeOptions options, Exactly exactly)
    : options_(std::move(options)), exactly_(std::move(exactly)) {
  options_.defer = true;
  readers_.push_back(std::make_unique<LiveReader>(options_));
}

void Store::set_files(const std::vector<std::string>& runs, const std::vector<FileSpec>& files) {
  std::map<std::string, std::unique_ptr<LiveRun>> known;
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

uint64_t Store::look(uint64_t most, std::vector<LiveRun*>& changed, uint64_t& bytes) {
  for (const auto& run : gone_) changed.push_back(run.get());
  uint64_t left = 0;
  const size_t first = most == UINT64_MAX || runs_.empty() ? 0 : next_ % runs_.size();
  for (size_t i = 0; i < runs_.size(); ++i) {
    const size_t place = (first + i) % runs_.size();
    LiveRun& run = *runs_[place];
    uint64_t news = 0;
    if (!run.look(news)) continue;
    if (bytes < most || news == 0) {
      const uint64_t rest = news > most - bytes ? run.limit(most - bytes) : 0;
      bytes += news - rest;
      left += rest;
      if (news > 0) next_ = place + 1;  // others have their turn before more of this one
      changed.push_back(&run);
    } else {
      left += news;
    }
  }
  // Rows are given in the order of runs.
  if (first > 0) {
    std::sort(changed.begin() + static_cast<std::ptrdiff_t>(gone_.size()), changed.end(),
              [](const LiveRun* a, const LiveRun* b) { return a->index < b->index; });
  }
  return left;
}

Update Store::poll(bool rows, uint64_t most, bool in_place) {
  const unsigned threads = in_place ? 0 : std::max(1U, options_.threads);
  std::vector<LiveRun*> changed;
  uint64_t bytes = 0;
  const uint64_t left = look(most, changed, bytes);
  while (readers_.size() < options_.threads) readers_.push_back(std::make_unique<LiveReader>(options_));
  const auto tick = [this] { return !options_.tick || options_.tick({}); };
  for (const auto& reader : readers_) reader->much = bytes >= kMuch;
  if (bytes >= 2 * options_.split) {
    std::vector<LiveRun::AheadJob> jobs;
    for (LiveRun* run : changed) run->plan_ahead(jobs);
    Crew crew;
    crew.run(
        jobs.size(), threads,
        [&](unsigned worker, size_t job) {
          jobs[job].run->read_ahead(*readers_[worker], &crew.cancelled(), jobs[job]);
        },
        tick);
  }
  const LiveRun::Asked asked{!rows, &hidden_};
  // Runs that follow each other are one job, so that their rows lie together.
  const auto each = [&](bool reads, bool updates) {
    const size_t jobs = std::min<size_t>(changed.size(), options_.threads > 1 ? options_.threads * 16 : 1);
    const size_t before = pending_.size();
    if (updates) pending_.resize(before + jobs);
    Crew crew;
    crew.run(
        jobs, threads,
        [&](unsigned worker, size_t job) {
          const size_t end = changed.size() * (job + 1) / jobs;
          for (size_t i = changed.size() * job / jobs; i < end && !crew.cancelled(); ++i) {
            if (reads) changed[i]->read(*readers_[worker], &crew.cancelled());
            if (updates) changed[i]->update(*readers_[worker], asked, pending_[before + job]);
          }
        },
        tick);
  };
  if (exactly_.hidden) {
    each(true, false);
    hide(changed);
    each(false, true);
  } else {
    each(true, true);
  }
  Update update = take_pending();
  update.left = left;
  for (LiveRun* run : changed) run->merge_parts(*readers_[0], &hidden_);
  gone_.clear();
  if (bytes >= kMuch) {
    for (const auto& reader : readers_) reader->release();
    if (!rows && left == 0) release_memory();  // those who only look at the log have it open for long
  }
  return update;
}

void Store::hide(std::vector<LiveRun*>& changed) {
  const bool fresh = std::any_of(changed.begin(), changed.end(),
                                 [&](const LiveRun* run) { return run->has_fresh_tag(exactly_.is_pattern); });
  if (changed.empty() || !(fresh || is_exact_)) return;
  SeriesNames names;
  for (const auto& run : runs_) run->add_tags(names);
  SeriesNames hidden;
  is_exact_ = false;
  for (auto first = names.begin(); first != names.end();) {
    std::vector<std::string> tags;
    const Kind kind = first->first;
    for (; first != names.end() && first->first == kind; ++first) tags.push_back(first->second);
    if (std::none_of(tags.begin(), tags.end(), exactly_.is_pattern)) continue;
    is_exact_ = true;
    for (std::string& tag : exactly_.hidden(kind, tags)) hidden.emplace(kind, std::move(tag));
  }
  SeriesNames differ;
  std::set_symmetric_difference(hidden.begin(), hidden.end(), hidden_.begin(), hidden_.end(),
                                std::inserter(differ, differ.end()));
  hidden_ = std::move(hidden);
  if (differ.empty()) return;
  for (const auto& run : runs_) {
    if (run->look_again_at(differ) && std::find(changed.begin(), changed.end(), run.get()) == changed.end())
      changed.push_back(run.get());
  }
}

Update Store::take_pending() {
  Update update;
  for (RunsUpdate& from : pending_) {
    std::move(from.retracted.begin(), from.retracted.end(), std::back_inserter(update.retracted));
    std::move(from.changes.begin(), from.changes.end(), std::back_inserter(update.changes));
    if (!from.rows) continue;
    const auto files_before = static_cast<uint32_t>(update.added.files.size());
    std::move(from.files.begin(), from.files.end(), std::back_inserter(update.added.files));
    for (BlobTable& blobs : from.rows->blobs) {
      for (BlobRow& row : blobs) row.file += files_before;
    }
    from.rows->finish();
    append_rows(update.added, *from.rows);
  }
  join_short(update.added.scalars);
  pending_.clear();
  return update;
}

Columns Store::curves(const std::vector<Series>& series, CurveOptions options) const {
  std::vector<Curve> curves(series.size());
  std::map<uint32_t, std::vector<size_t>> by_run;
  for (size_t i = 0; i < series.size(); ++i) by_run[series[i].run].push_back(i);
  for (const auto& [run, places] : by_run) {
    if (run >= runs_.size()) continue;
    std::vector<std::string> tags;
    for (const size_t place : places) tags.push_back(series[place].tag);
    std::vector<Curve> of_run = runs_[run]->curves(tags);
    for (size_t i = 0; i < places.size(); ++i) curves[places[i]] = std::move(of_run[i]);
  }
  options.threads = options_.threads;
  return columns_of(curves, options);
}

Curve Store::points(const Series& series) const {
  if (series.run >= runs_.size()) return {};
  return std::move(runs_[series.run]->curves({series.tag}).front());
}

Result Store::everything(Kinds kinds, const std::vector<uint32_t>* runs) {
  Result result;
  DecodeOptions options = options_;
  options.kinds = kinds;
  Joiner joiner(options, readers_[0]->pool, true);
  if (runs) {
    for (const uint32_t run : *runs) runs_.at(run)->join_all(joiner, result.files);
  } else {
    for (const auto& run : runs_) run->join_all(joiner, result.files);
  }
  joiner.finish();
  append_rows(result, joiner);
  return result;
}

}  // namespace tbq
