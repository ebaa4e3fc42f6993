// Combines the damage, sessions, steps and times of a file, part after part.
#include "decode/file_report.hpp"

namespace tbq {
namespace {

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
