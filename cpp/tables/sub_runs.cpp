// Implements the rule by which a directory is what `add_hparams` wrote.
#include "tables/sub_runs.hpp"

#include <algorithm>
#include <cmath>

#include "bytes/cursor.hpp"
#include "event/metadata.hpp"
#include "event/schema.hpp"

namespace tbq {
namespace {

// torch and tensorboardX write these entries in this order, and the metrics after them.
constexpr std::string_view kEntries[] = {"_hparams_/experiment", "_hparams_/session_start_info",
                                         "_hparams_/session_end_info"};
constexpr unsigned kExperiment = 1;
constexpr unsigned kStart = 2;
constexpr unsigned kEnd = 4;

struct Seen {
  unsigned entries = 0;  // bits in the order of kEntries
  bool other = false;
  bool grouped = false;
  uint64_t calls = 0;
  uint64_t most = 0;  // values of one metric
  double start = 0;   // the wall time of its first call
  double first_metric = HUGE_VAL;
};

// Reads the SessionStartInfo in the metadata of its tag; returns false if it cannot be read.
bool read_start(Bytes metadata, Seen& seen, std::string& hparams) {
  Bytes start;
  std::vector<std::string_view> entries;
  const bool valid = each_field(plugin_content(metadata),
                                [&](const Field& field) {
                                  if (field.is(schema::HparamsPluginData::session_start_info, Wire::bytes))
                                    start = field.bytes;
                                }) &&
                     each_field(start, [&](const Field& field) {
                       if (field.is(schema::SessionStartInfo::hparams, Wire::bytes))
                         entries.push_back(as_text(field.bytes));
                       if (field.is(schema::SessionStartInfo::group_name, Wire::bytes))
                         seen.grouped = !field.bytes.empty();
                     });
  if (!valid) return false;
  std::sort(entries.begin(), entries.end());
  hparams = "s";  // not empty, even without hyperparameters
  for (const std::string_view entry : entries) {
    hparams += std::to_string(entry.size());
    hparams += ':';
    hparams += entry;
  }
  return true;
}

SubRunState state_of(const Seen& seen) {
  if (seen.other) return SubRunState::other;
  if (seen.entries == 0) return seen.most == 0 ? SubRunState::nothing : SubRunState::other;
  const bool complete = seen.entries == (kExperiment | kStart | kEnd);
  const bool begun = seen.entries == kExperiment || seen.entries == (kExperiment | kStart);
  if (complete ? seen.most > seen.calls : !begun || seen.most > 0) return SubRunState::other;
  // So a directory that began as something else stays that, whatever is appended.
  if (seen.first_metric < seen.start) return SubRunState::other;
  if (seen.grouped) return SubRunState::trial;
  return complete ? SubRunState::complete : SubRunState::begun;
}

}  // namespace

const char* sub_run_state_name(SubRunState state) {
  static constexpr const char* names[] = {"nothing", "begun", "complete", "trial", "other"};
  return names[static_cast<size_t>(state)];
}

std::vector<SubRunFacts> sub_run_facts(const Result& result, size_t runs) {
  std::vector<SubRunFacts> facts(runs);
  std::vector<Seen> seen(runs);
  for (const SeriesReport& series : result.series) {
    if (series.run >= runs || series.seen.steps.count == 0) continue;
    Seen& of_run = seen[series.run];
    const uint64_t count = series.seen.steps.count;
    if (series.kind == Kind::scalars) {
      of_run.most = std::max(of_run.most, count);
      of_run.first_metric = std::min(of_run.first_metric, series.seen.first_wall_time);
    } else if (series.kind == Kind::hparams) {
      const auto* entry = std::find(std::begin(kEntries), std::end(kEntries), series.tag);
      of_run.other = of_run.other || entry == std::end(kEntries);
      const unsigned flag = 1U << (entry - std::begin(kEntries));
      of_run.entries |= flag;
      if (flag == kStart) {
        of_run.calls = count;
        of_run.start = series.seen.first_wall_time;
        const auto* data = reinterpret_cast<const uint8_t*>(series.metadata_bytes.data());
        if (!read_start({data, series.metadata_bytes.size()}, of_run, facts[series.run].hparams))
          of_run.other = true;
        facts[series.run].calls = count;
      }
    } else {
      of_run.other = true;
    }
  }
  for (size_t run = 0; run < runs; ++run) facts[run].state = state_of(seen[run]);
  return facts;
}

}  // namespace tbq
