// Maps tags to series, and picks a few points of each series.
#include "rewrite/series_rules.hpp"

#include <algorithm>

namespace tbq {

void Picks::prepare(uint64_t most, bool numbers) {
  all_ = total_ <= most;
  if (all_) return;
  if (most == 1) {
    places_ = {total_ - 1};
  } else if (!numbers) {
    for (uint64_t i = 0; i < most; ++i) {
      places_.push_back(static_cast<uint64_t>(
          static_cast<double>(i) * static_cast<double>(total_ - 1) / static_cast<double>(most - 1) + 0.5));
    }
  } else {
    places_ = {0, total_ - 1};
    stretches_.resize(static_cast<size_t>((most - 2) / 2));
  }
}

void Picks::offer(uint64_t place, double value) {
  if (stretches_.empty() || place == 0 || place >= total_ - 1) return;
  const double share = static_cast<double>(place - 1) / static_cast<double>(total_ - 2);
  const auto index = static_cast<size_t>(share * static_cast<double>(stretches_.size()));
  Stretch& stretch = stretches_[std::min(index, stretches_.size() - 1)];
  const bool number = value == value;
  if (!stretch.any) {
    stretch = {true, value, value, place, place};
    return;
  }
  // NaN compares false: a number replaces it.
  if (number && !(value >= stretch.least)) {
    stretch.least = value;
    stretch.least_at = place;
  }
  if (number && !(value <= stretch.largest)) {
    stretch.largest = value;
    stretch.largest_at = place;
  }
}

void Picks::finish() {
  for (const Stretch& stretch : stretches_) {
    if (!stretch.any) continue;
    places_.push_back(stretch.least_at);
    places_.push_back(stretch.largest_at);
  }
  std::sort(places_.begin(), places_.end());
  places_.erase(std::unique(places_.begin(), places_.end()), places_.end());
  stretches_.clear();
}

bool Picks::has(uint64_t place) {
  if (all_) return true;
  while (next_ < places_.size() && places_[next_] < place) ++next_;
  return next_ < places_.size() && places_[next_] == place;
}

RunStates::RunStates(const Result& survey, uint32_t run, const std::vector<SeriesRule>& rules) {
  const auto first =
      std::lower_bound(survey.series.begin(), survey.series.end(), run,
                       [](const SeriesReport& report, uint32_t wanted) { return report.run < wanted; });
  for (auto at = first; at != survey.series.end() && at->run == run; ++at) {
    const auto index = static_cast<size_t>(at - survey.series.begin());
    auto state = std::make_unique<SeriesState>();
    state->report = &*at;
    state->rule = &rules[index];
    untouched_ = untouched_ && !state->rule->drop && !state->rule->renamed;
    const auto begin =
        std::lower_bound(survey.segments.begin(), survey.segments.end(), index,
                         [](const SegmentReport& segment, size_t wanted) { return segment.series < wanted; });
    auto end = begin;
    while (end != survey.segments.end() && end->series == index) ++end;
    state->segments = {begin, end};
    std::unique_ptr<TagStates>& tag = tags_[at->tag];
    if (!tag) tag = std::make_unique<TagStates>();
    tag->all.push_back(std::move(state));
  }
}

void RunStates::rewind() {
  each([](SeriesState& state) { state.rewind(); });
  for (auto& [name, tag] : tags_) tag->metadata_lost = tag->metadata_kept = false;
}

}  // namespace tbq
