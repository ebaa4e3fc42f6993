// Joins the parts of a run into sessions, and finds which metadata comes first.
#include "decode/sessions.hpp"

#include <algorithm>

namespace tbq {
namespace {

// Joins a session that continues with the last one of the part before; also if that one is still empty.
std::vector<RunSession> join_sessions(const Parts& parts, const std::vector<FileReport>& files,
                                      std::vector<std::vector<uint32_t>>& places) {
  std::vector<RunSession> joined;
  std::vector<FirstEvent> first_events;
  bool empty = false;  // whether the last session is empty so far
  for (const auto& part : parts) {
    std::vector<uint32_t>& of_part = places.emplace_back();
    for (const Session& session : part->sessions) {
      const bool nothing = session.records + part->passed == 0;
      if ((session.continues || empty) && !joined.empty() && joined.back().file == part->file) {
        empty = empty && nothing;
        RunSession& earlier = joined.back();
        earlier.times.merge(session.times);
        earlier.start.merge(session.start);
        first_events.back().merge(session.first_event);
      } else {
        empty = nothing;
        joined.push_back({part->file, files[part->file].ordered_by(), session.offset, session.times,
                          session.start, files[part->file].is_below});
        first_events.push_back(session.first_event);
      }
      of_part.push_back(static_cast<uint32_t>(joined.size() - 1));
    }
  }
  for (size_t i = 0; i < joined.size(); ++i) {
    TimeSpan& times = joined[i].times;
    double wall = first_events[i].wall_time;
    // An event cannot move its session before an earlier session of the same file.
    if (i > 0 && joined[i - 1].file == joined[i].file) wall = std::max(wall, joined[i - 1].times.begin);
    // A wall time of 0 is absent, as in TimeSpan.
    if (first_events[i].known && first_events[i].wall_time != 0 && wall < times.begin) times.begin = wall;
  }
  return joined;
}

// Adds the damage of the next part of a file. The events before and after a fault may be in other parts.
void add_faults(FileReport& report, const Part& part, const int64_t* before) {
  if (part.has_event) {
    for (auto fault = report.faults.rbegin(); fault != report.faults.rend() && !fault->has_after; ++fault) {
      fault->has_after = true;
      fault->step_after = part.first_event_step;
    }
  }
  const uint64_t next_session = part.sessions.size() > 1 ? part.sessions[1].offset : UINT64_MAX;
  for (Fault fault : part.faults) {
    if (!fault.has_before && fault.offset < next_session && part.sessions[0].continues && before) {
      fault.has_before = true;
      fault.step_before = *before;
    }
    if (report.listed.takes(fault.code)) {
      report.faults.push_back(fault);
    } else {
      ++report.more_faults;
    }
  }
}

}  // namespace

RunSessions order_run(const Parts& parts, const std::vector<FileReport>& files, bool by_path) {
  RunSessions out;
  const std::vector<RunSession> joined = join_sessions(parts, files, out.places);
  const std::vector<uint32_t> order = order_sessions(joined, by_path);
  std::vector<uint32_t> rank(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = i;
    out.ordered.push_back(joined[order[i]]);
  }
  for (auto& of_part : out.places) {
    for (uint32_t& place : of_part) place = rank[place];
  }
  out.starts = start_limits(out.ordered);
  return out;
}

const SessionMetadata* first_metadata(std::span<const TagOfPart> entries, const RunSessions& sessions) {
  const SessionMetadata* first = nullptr;
  std::pair<uint32_t, size_t> place;
  for (const auto& [part, entry] : entries) {
    for (const SessionMetadata& metadata : entry->metadata) {
      const std::pair here(sessions.places[part][metadata.session], part);
      if (first && place <= here) continue;
      first = &metadata;
      place = here;
    }
  }
  return first;
}

Plugins plugins_of(const Parts& parts, const RunSessions& sessions, const KnownTags* known) {
  NameViewMap<std::vector<TagOfPart>> entries;
  for (size_t part = 0; part < parts.size(); ++part) {
    for (const auto& entry : parts[part]->tags.all) {
      if (!entry->metadata.empty()) entries[entry->tag].push_back({part, entry.get()});
    }
  }
  Plugins plugins;
  for (const auto& [tag, of_tag] : entries) {
    plugins.emplace(tag, first_metadata(of_tag, sessions)->parsed->plugin);
  }
  if (known) {
    for (const auto& [tag, metadata] : *known) plugins.try_emplace(tag, metadata.parsed.plugin);
  }
  return plugins;
}

bool assumed_wrongly(const Part& part, const Plugins& plugins) {
  for (const auto& entry : part.tags.all) {
    if (!entry->assumed && !entry->plugin_known) continue;
    const auto known = plugins.find(entry->tag);
    // Kinds that were assumed before this part's own metadata came may precede values of another kind.
    if (known == plugins.end()) {
      if (!entry->plugin.empty()) return true;  // the file with that metadata is gone
    } else if (known->second != entry->plugin || (entry->assumed && !known->second.empty())) {
      return true;
    }
  }
  return std::any_of(part.unsure.begin(), part.unsure.end(),
                     [&](const std::string& tag) { return plugins.contains(tag); });
}

void report_file(uint32_t index, const Parts& parts, FileReport& report) {
  const int64_t* last_step = nullptr;  // the last step of the session so far
  bool empty = true;                   // the session has no content so far
  for (const auto& part : parts) {
    if (part->file != index) continue;
    report.records += part->records;
    report.truncated += part->truncated;
    report.lost_bytes += part->lost_bytes;
    report.more_faults += part->more_faults;
    report.bytes_read += part->bytes_read;
    report.resume = part->stopped;
    if (part->error != 0) report.error = part->error;
    if (report.writer.empty()) report.writer = part->writer;
    if (report.file_version.empty()) report.file_version = part->file_version;
    report.end.merge(part->end_mark);
    report.renamed.insert(part->renamed.begin(), part->renamed.end());
    add_faults(report, *part, last_step);
    for (const Session& session : part->sessions) {
      if (report.sessions == 0 || (!session.continues && !empty)) {
        ++report.sessions;
        last_step = nullptr;
        empty = true;
      }
      if (session.records + part->passed > 0) empty = false;
      if (session.steps.count > 0) last_step = &session.steps.last;
      report.steps.merge(session.steps);
      report.times.merge(session.times);
    }
  }
  if (report.records == 0 && report.lost_bytes > 0) report.state = FileState::not_events;
}

}  // namespace tbq
