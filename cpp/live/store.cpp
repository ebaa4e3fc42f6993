// Follows a log directory: finds changed runs, reads them on threads, and collects the update.
#include "live/store.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "bytes/seeded_hash.hpp"
#include "decode/crew.hpp"

namespace tbq {
namespace {

constexpr uint64_t kMuch = uint64_t{4} << 20;  // after reading this much, memory is freed

}  // namespace

Store::Store(DecodeOptions options, Exactly exactly)
    : options_(std::move(options)), exactly_(std::move(exactly)) {
  options_.defer = true;
  readers_.push_back(std::make_unique<LiveReader>(options_));
}

void Store::set_files(const std::vector<std::string>& runs, const std::vector<FileSpec>& files) {
  std::vector<std::span<const FileSpec>> of_run(runs.size());
  for (size_t first = 0, last; first < files.size(); first = last) {
    for (last = first; last < files.size() && files[last].run == files[first].run;) ++last;
    of_run.at(files[first].run) = std::span(files).subspan(first, last - first);
  }
  NameViewMap<size_t> known;
  for (size_t i = 0; i < runs_.size(); ++i) known.emplace(runs_[i]->name(), i);
  constexpr size_t kNew = SIZE_MAX;
  std::vector<size_t> places(runs.size(), kNew);  // index among the current runs
  std::vector<bool> stays(runs_.size(), false);
  std::vector<std::unique_ptr<LiveRun>> next(runs.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto found = known.find(runs[i]);
    if (found != known.end() && !stays[found->second]) {
      places[i] = found->second;
      stays[found->second] = true;
    } else {
      next[i] = std::make_unique<LiveRun>(runs[i], options_);
    }
  }
  gone_.reserve(gone_.size() + runs_.size());
  // If one of these fails, the next call repeats the rest.
  for (size_t i = 0; i < runs.size(); ++i) {
    (places[i] == kNew ? *next[i] : *runs_[places[i]]).set_files(of_run[i]);
  }
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (!stays[i]) runs_[i]->set_files({});
  }
  // Nothing can fail from here on.
  for (size_t i = 0; i < runs.size(); ++i) {
    if (places[i] != kNew) next[i] = std::move(runs_[places[i]]);
    next[i]->index = static_cast<uint32_t>(i);
  }
  for (auto& run : runs_) {
    if (run) gone_.push_back(std::move(run));
  }
  runs_ = std::move(next);
}

uint64_t Store::find_changes(uint64_t most, std::vector<LiveRun*>& changed, uint64_t& bytes) {
  for (const auto& run : gone_) changed.push_back(run.get());
  uint64_t left = 0;
  const size_t first = most == UINT64_MAX || runs_.empty() ? 0 : next_ % runs_.size();
  for (size_t i = 0; i < runs_.size(); ++i) {
    const size_t place = (first + i) % runs_.size();
    LiveRun& run = *runs_[place];
    uint64_t new_bytes = 0;
    if (!run.find_new_bytes(new_bytes)) continue;
    if (bytes < most || new_bytes == 0) {
      const uint64_t rest = new_bytes > most - bytes ? run.limit(most - bytes) : 0;
      bytes += new_bytes - rest;
      left += rest;
      if (new_bytes > 0) next_ = place + 1;  // other runs get their turn before this run continues
      changed.push_back(&run);
    } else {
      left += new_bytes;
    }
  }
  if (first > 0) sort_runs(changed);
  return left;
}

// Rows are returned in the order of runs, after those that are gone.
void Store::sort_runs(std::vector<LiveRun*>& changed) const {
  std::sort(changed.begin() + static_cast<std::ptrdiff_t>(gone_.size()), changed.end(),
            [](const LiveRun* a, const LiveRun* b) { return a->index < b->index; });
}

std::shared_ptr<Update> Store::poll(bool rows, uint64_t most, bool in_place) {
  if (ready_) return ready_;
  const unsigned threads = in_place ? 0 : std::max(1U, options_.threads);
  std::vector<LiveRun*> changed;
  uint64_t bytes = 0;
  const uint64_t left = find_changes(most, changed, bytes);
  while (readers_.size() < options_.threads) readers_.push_back(std::make_unique<LiveReader>(options_));
  for (const auto& reader : readers_) reader->much = bytes >= kMuch;
  // Calls job(reader, index, stop) on threads; false if it was stopped.
  const auto each = [&](size_t jobs, auto&& job) {
    Crew crew;
    return crew.run(
        jobs, threads, [&](unsigned worker, size_t i) { job(*readers_[worker], i, crew.stop()); },
        [this] { return !options_.tick || options_.tick({}); });
  };
  if (bytes >= 2 * options_.split) {
    std::vector<LiveRun::AheadJob> jobs;
    for (LiveRun* run : changed) run->plan_ahead(readers_[0]->reader, jobs);
    const auto read = [&](LiveReader& reader, size_t i, const StopFlag& stop) {
      jobs[i].run->read_ahead(reader, stop, jobs[i]);
    };
    if (!each(jobs.size(), read)) return nullptr;
  }
  const LiveRun::Asked asked{!rows, &hidden_};
  std::vector<RunsUpdate> made;
  // Consecutive runs form one job, so that their rows are together.
  const auto each_run = [&](bool reads, bool updates) {
    const size_t jobs = std::min<size_t>(changed.size(), options_.threads > 1 ? options_.threads * 16 : 1);
    if (updates) made.resize(jobs);
    return each(jobs, [&](LiveReader& reader, size_t job, const StopFlag& stop) {
      const size_t end = changed.size() * (job + 1) / jobs;
      for (size_t i = changed.size() * job / jobs; i < end && !stop.is_set(); ++i) {
        if (reads) changed[i]->read(reader, stop);
        if (updates && !stop.is_set()) changed[i]->update(reader, asked, made[job]);
      }
    });
  };
  if (exactly_.hidden) {
    if (!each_run(true, false)) return nullptr;
    hide(changed);
    if (!each_run(false, true)) return nullptr;
  } else if (!each_run(true, true)) {
    return nullptr;
  }
  auto update = std::make_shared<Update>(put_together(made));
  update->left = left;
  made.clear();
  // Nothing can fail from here on: the rows of the update count as delivered, and the update stays available
  // until received() is called.
  for (LiveRun* run : changed) run->commit();
  std::erase_if(changed, [](const LiveRun* run) { return !run->may_merge(); });  // drops gone runs too
  gone_.clear();
  ready_ = std::move(update);

  each(changed.size(), [&](LiveReader& reader, size_t i, const StopFlag& stop) {
    changed[i]->merge_parts(reader, &hidden_, stop);
  });
  if (bytes >= kMuch) {
    for (const auto& reader : readers_) reader->release();
    if (!rows && left == 0) release_memory();  // callers that only watch the log keep it open for long
  }
  return ready_;
}

void Store::hide(std::vector<LiveRun*>& changed) {
  const bool fresh = std::any_of(changed.begin(), changed.end(),
                                 [&](const LiveRun* run) { return run->has_fresh_tag(exactly_.is_pattern); });
  if (changed.empty() || !(fresh || is_exact_)) return;
  SeriesNames names;
  for (const auto& run : runs_) run->add_tags(names);
  SeriesNames hidden;
  bool is_exact = false;
  for (auto first = names.begin(); first != names.end();) {
    std::vector<std::string> tags;
    const Kind kind = first->first;
    for (; first != names.end() && first->first == kind; ++first) tags.push_back(first->second);
    if (std::none_of(tags.begin(), tags.end(), exactly_.is_pattern)) continue;
    is_exact = true;
    for (std::string& tag : exactly_.hidden(kind, tags)) hidden.emplace(kind, std::move(tag));
  }
  SeriesNames differ;
  std::set_symmetric_difference(hidden.begin(), hidden.end(), hidden_.begin(), hidden_.end(),
                                std::inserter(differ, differ.end()));
  for (const auto& run : runs_) {
    if (differ.empty()) break;
    if (run->recheck(differ) && std::find(changed.begin(), changed.end(), run.get()) == changed.end())
      changed.push_back(run.get());
  }
  sort_runs(changed);
  hidden_ = std::move(hidden);
  is_exact_ = is_exact;
}

Update Store::put_together(std::vector<RunsUpdate>& made) {
  Update update;
  for (RunsUpdate& from : made) {
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
