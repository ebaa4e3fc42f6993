// Joins the parts of a run, tag by tag.
#include "decode/join.hpp"

#include <algorithm>
#include <iterator>
#include <map>

namespace tbq {

namespace {

void report_sessions(uint32_t run, const Parts& parts, const RunSessions& sessions,
                     std::vector<SessionReport>& out) {
  const size_t base = out.size();
  for (const RunSession& session : sessions.ordered) {
    SessionReport report;
    report.run = run;
    report.file = session.file;
    report.offset = session.offset;
    report.times = session.times;
    report.start = session.start;
    out.push_back(report);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    for (size_t j = 0; j < parts[i]->sessions.size(); ++j) {
      const Session& from = parts[i]->sessions[j];
      SessionReport& to = out[base + sessions.places[i][j]];
      to.headed = to.headed || from.headed;
      to.records += from.records;
      to.steps.merge(from.steps);
    }
  }
}

}  // namespace

bool Joiner::add(uint32_t run, const Parts& parts, const RunSessions& sessions, bool stored) {
  const size_t series_before = series.size();
  const size_t sessions_before = session_reports.size();
  const size_t segments_before = segment_reports.size();
  session_base_ = static_cast<uint32_t>(sessions_before);
  uncounted_ = blobs_kept_ = false;
  if (options_.session_tables) report_sessions(run, parts, sessions, session_reports);

  std::vector<TagOfPart> entries;
  for (size_t part = 0; part < parts.size(); ++part) {
    for (const auto& entry : parts[part]->tags.all) entries.push_back({part, entry.get()});
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const TagOfPart& a, const TagOfPart& b) { return a.entry->tag < b.entry->tag; });

  reserve_blobs(parts);
  for (size_t first = 0; first < entries.size();) {
    size_t last = first;
    while (last < entries.size() && entries[last].entry->tag == entries[first].entry->tag) ++last;
    const auto of_tag = std::span(entries).subspan(first, last - first);
    if (is_new(of_tag, parts)) add_series(of_tag, run, sessions);
    if (uncounted_ && !stored) {
      series.resize(series_before);
      session_reports.resize(sessions_before);
      segment_reports.resize(segments_before);
      return false;
    }
    for (size_t i = first; i < last && !keeps_parts_; ++i) {
      entries[i].entry->scalars.release(pool_);
      for (auto& [kind, from] : entries[i].entry->blobs) from.rows.release(pool_);
    }
    first = last;
  }
  if (blobs_kept_) held.insert(held.end(), parts.begin(), parts.end());
  return true;
}

// Whether rows of a tag may have become visible or invisible.
bool Joiner::is_new(std::span<const TagOfPart> entries, const Parts& parts) const {
  if (!delivery_ || delivery_->all || delivery_->stale.contains(entries[0].entry->tag)) return true;
  return std::any_of(entries.begin(), entries.end(), [&](const TagOfPart& entry) {
    return delivery_->fresh.contains(parts[entry.part].get());
  });
}

// Of values that were not asked for, only the existence is known: large records of them may have been
// skipped.
bool Joiner::counted(const SeriesReport& report) const {
  if (options_.count) return report.selected;
  if (options_.session_tables || options_.verify) return true;
  return report.selected && (options_.kinds & bit(report.kind)) != 0;
}

// Adds the series of one tag, one per kind of its values.
void Joiner::add_series(std::span<const TagOfPart> entries, uint32_t run, const RunSessions& sessions) {
  SeriesReport report;
  report.run = run;
  report.tag = entries[0].entry->tag;
  if (const SessionMetadata* known = first_metadata(entries, sessions)) {
    report.metadata = *known->parsed;
    report.metadata_bytes = as_text(known->bytes);
  } else if (const KnownTags* elsewhere = options_.known_tags(run)) {
    if (const auto stated = elsewhere->find(report.tag); stated != elsewhere->end()) {
      report.metadata = stated->second.parsed;
      report.metadata_bytes = stated->second.bytes;
    }
  }
  std::vector<Source> numbers;
  std::map<Kind, std::vector<Source>> others;
  for (const auto& [part, entry] : entries) {
    report.selected = entry->selected;
    report.rounded += entry->rounded;
    report.refused += entry->refused;
    if (report.dtype == 0) report.dtype = entry->dtype;
    const auto wanted = [&](Kind kind) { return !keeps_parts_ || (options_.kinds & bit(kind)) != 0; };
    if (!entry->scalars.segments.all.empty() && wanted(Kind::scalars))
      numbers.push_back({&entry->scalars, nullptr, part});
    for (const auto& [kind, from] : entry->blobs) {
      if (!from.segments.all.empty() && wanted(static_cast<Kind>(kind)))
        others[static_cast<Kind>(kind)].push_back({nullptr, &from, part});
    }
  }
  if (!numbers.empty()) {
    SeriesReport of_kind = report;
    of_kind.kind = Kind::scalars;
    add_scalars(of_kind, numbers, sessions);
    if (!counted(of_kind)) of_kind.seen = {};
    series.push_back(std::move(of_kind));
  }
  for (auto& [kind, sources] : others) {
    SeriesReport of_kind = report;
    of_kind.kind = kind;
    of_kind.rounded = 0;
    add_blobs(of_kind, sources, sessions);
    blobs_kept_ = blobs_kept_ || of_kind.rows > 0;
    if (!counted(of_kind)) of_kind.seen = {};
    series.push_back(std::move(of_kind));
  }
}

// Reserves room for the rows of a run.
void Joiner::reserve_blobs(const Parts& parts) {
  if (options_.count || delivery_) return;
  size_t rows[kKindCount] = {};
  for (const auto& part : parts) {
    for (const auto& entry : part->tags.all) {
      for (const auto& [kind, from] : entry->blobs) rows[kind] += from.rows.size();
    }
  }
  for (size_t kind = 0; kind < kKindCount; ++kind) {
    BlobTable& out = blobs[kind];
    if (out.capacity() - out.size() < rows[kind]) {
      out.reserve(std::max(out.size() + rows[kind], out.capacity() * 2));
    }
  }
}

void append_rows(Result& to, Joiner& from) {
  const auto base = static_cast<uint32_t>(to.series.size());
  for (ScalarBatch& batch : from.scalars()) {
    for (auto& stretch : batch.stretches) stretch.series += base;
    to.scalars.push_back(std::move(batch));
  }
  for (size_t kind = 0; kind < kKindCount; ++kind) {
    if (base > 0) {
      for (BlobRow& row : from.blobs[kind]) row.tag += base;
    }
    auto& joined = to.blobs[kind];
    if (!joined) {
      joined = std::make_shared<BlobTable>(std::move(from.blobs[kind]));
    } else {
      joined->insert(joined->end(), from.blobs[kind].begin(), from.blobs[kind].end());
    }
  }
  const auto session_base = static_cast<uint32_t>(to.sessions.size());
  for (SegmentReport& segment : from.segment_reports) {
    segment.series += base;
    segment.session += session_base;
    to.segments.push_back(segment);
  }
  std::move(from.session_reports.begin(), from.session_reports.end(), std::back_inserter(to.sessions));
  std::move(from.series.begin(), from.series.end(), std::back_inserter(to.series));
  std::move(from.held.begin(), from.held.end(), std::back_inserter(to.parts));
}

}  // namespace tbq
