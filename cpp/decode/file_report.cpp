// Damage, sessions, steps and times of a file, part after part.
#include "decode/file_report.hpp"

#include <algorithm>

namespace tbq {
namespace {

// Whether the parts of the file before this one know all of these tags.
bool known_before(const Parts& parts, size_t index, const std::vector<Doubt::Tag>& tags) {
  return std::all_of(tags.begin(), tags.end(), [&](const Doubt::Tag& tag) {
    return std::any_of(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(index),
                       [&](const auto& earlier) {
                         if (earlier->file != parts[index]->file) return false;
                         const TagEntry* entry = earlier->tags.find(tag.name);
                         return entry && (!entry->metadata.empty() || !tag.has_metadata);
                       });
  });
}

// The damage of the next part of a file. What came before and after it may lie in other parts.
void add_faults(FileReport& report, const Parts& parts, size_t index, const int64_t* before) {
  const Part& part = *parts[index];
  if (part.has_event) {
    for (auto fault = report.faults.rbegin(); fault != report.faults.rend() && !fault->has_after; ++fault) {
      fault->has_after = true;
      fault->step_after = part.first_event_step;
    }
  }
  const uint64_t next_session = part.sessions.size() > 1 ? part.sessions[1].offset : UINT64_MAX;
  auto doubt = part.doubts.begin();
  for (size_t i = 0; i < part.faults.size(); ++i) {
    Fault fault = part.faults[i];
    if (doubt != part.doubts.end() && doubt->fault == i && known_before(parts, index, (doubt++)->tags)) {
      report.lost_bytes -= fault.length;
      continue;
    }
    if (!fault.has_before && fault.offset < next_session && part.sessions[0].continues && before) {
      fault.has_before = true;
      fault.step_before = *before;
    }
    if (report.faults.size() == kMostFaults) {
      ++report.more_faults;
    } else {
      report.faults.push_back(fault);
    }
  }
}

}  // namespace

void report_file(uint32_t index, const Parts& parts, FileReport& report) {
  const int64_t* last_step = nullptr;  // of the session so far
  bool empty = true;                   // nothing has been found in it
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto& part = parts[i];
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
    add_faults(report, parts, i, last_step);
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
