// Follows one run: turns growing files into parts, joins all parts to see which rows are visible, and
// delivers the difference.
#include "live/live_run.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "bytes/seeded_hash.hpp"
#include "decode/file_opener.hpp"
#include "live/pack.hpp"
#include "live/transfer.hpp"

namespace tbq {
void LiveRun::set_files(std::span<const FileSpec> specs) {
  constexpr size_t kNew = SIZE_MAX;
  NameViewMap<size_t> known;
  for (size_t i = 0; i < files_.size(); ++i) known.emplace(files_[i]->path, i);
  std::vector<size_t> places(specs.size(), kNew);  // index among the current files
  std::vector<bool> stays(files_.size(), false);
  std::vector<bool> used(reports_.size(), false);
  for (size_t i = 0; i < specs.size(); ++i) {
    const auto found = known.find(specs[i].path);
    if (found == known.end() || stays[found->second]) continue;
    places[i] = found->second;
    stays[found->second] = true;
    used[files_[found->second]->id] = true;
  }
  bool any = false;
  std::vector<std::unique_ptr<LiveFile>> files(specs.size());
  size_t free = 0;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (places[i] != kNew) continue;
    while (free < used.size() && used[free]) ++free;
    if (free == reports_.size()) reports_.emplace_back();
    files[i] = std::make_unique<LiveFile>();
    files[i]->path = specs[i].path;
    files[i]->name = specs[i].name;
    files[i]->is_below = specs[i].is_below;
    files[i]->id = static_cast<uint32_t>(free);
    reports_[free++] = {};
    any = true;
  }
  Parts dropped = dropped_;
  std::vector<LiveChange> changes = changes_;
  for (size_t i = 0; i < files_.size(); ++i) {
    if (stays[i]) continue;
    files_[i]->add_parts(dropped);
    if (files_[i]->known && files_[i]->status.error == 0)
      changes.push_back({name_, files_[i]->path, FileChange::gone});
    any = true;
  }
  // Nothing can fail from here on: everything is taken over, or nothing.
  for (size_t i = 0; i < specs.size(); ++i) {
    if (places[i] != kNew) files[i] = std::move(files_[places[i]]);
  }
  files_ = std::move(files);
  dropped_ = std::move(dropped);
  changes_ = std::move(changes);
  dirty_ = dirty_ || any;
}

bool LiveRun::find_new_bytes(uint64_t& bytes) {
  bool any = dirty_;
  for (auto& file : files_) {
    file->ahead = {};  // left over from a check that was stopped
    file->now = status_of(file->path);
    file->change = file->compare(file->now);
    if (file->known && file->now.error == 0 && file->opened.state == FileState::unreadable) {
      // The file may be unreadable; its status need not change when it becomes readable.
      file->change = File().open(file->path) == 0 ? FileChange::replaced : FileChange::none;
    }
    file->until = UINT64_MAX;
    any = any || file->change != FileChange::none;
    bytes += file->new_bytes();
  }
  return any;
}

uint64_t LiveRun::limit(uint64_t bytes) {
  uint64_t left = 0;
  for (auto& file : files_) {
    const uint64_t new_bytes = file->new_bytes();
    if (bytes == 0 && file->change == FileChange::grown) {
      file->change = FileChange::none;
      left += new_bytes;
      continue;
    }
    const uint64_t share = std::min(new_bytes, std::max<uint64_t>(bytes, 1));
    if (share < new_bytes) file->until = file->begin_of_new_bytes() + share;
    left += new_bytes - share;
    bytes -= std::min(bytes, share);
  }
  return left;
}

Parts LiveRun::all_parts() const {
  Parts parts;
  for (const auto& file : files_) file->add_parts(parts);
  return parts;
}

void LiveRun::update(LiveReader& reader, const Asked& asked, RunsUpdate& out) {
  staged_.reset();
  const Parts parts = all_parts();
  const RunSessions sessions = order(parts);
  NameSet stale = stale_;
  for (const auto& part : dropped_) {
    for (const auto& entry : part->tags.all) stale.insert(entry->tag);
    if (!asked.silent) retract(*part, out.retracted);
  }
  std::vector<SessionState> states = states_of(sessions);
  const bool all = states != states_;
  Delivery delivery{delivered_, fresh_, std::move(stale), all, asked.silent, asked.hidden, {}, {}};
  for (const auto& file : files_) {
    FileReport& report = reports_[file->id];
    report = file->opened;
    report.path = file->path;
    report.name = file->name;
    report.is_below = file->is_below;
    report_file(file->id, parts, report);
    report.truncated += file->unfinished;
  }
  if (!out.rows) out.rows = std::make_unique<Joiner>(options_, reader.pool, true);
  out.rows->set_delivery(&delivery);
  join(*out.rows, parts, sessions, out.files);
  out.rows->set_delivery(nullptr);
  for (const Delivery::Retracted& row : delivery.retracted) {
    out.retracted.push_back({name_, row.tag, row.kind, row.step, row.wall_time, row.value});
  }
  delivery.retracted.clear();
  out.changes.insert(out.changes.end(), changes_.begin(), changes_.end());
  staged_.emplace(std::move(delivery), std::move(states));
}

void LiveRun::commit() noexcept {
  if (!staged_) return;
  for (const auto& part : dropped_) {
    for (const auto& entry : part->tags.all) {
      for (const Segment& segment : entry->scalars.segments.all) delivered_.erase(&segment);
      for (const auto& of_kind : entry->blobs) {
        for (const Segment& segment : of_kind.second.segments.all) delivered_.erase(&segment);
      }
    }
  }
  staged_->delivery.commit();
  states_ = std::move(staged_->states);
  staged_.reset();
  dropped_.clear();
  fresh_.clear();
  stale_.clear();
  changes_.clear();
  dirty_ = false;
}

void LiveRun::add_tags(SeriesNames& names) const {
  const auto add = [&](const Part& part) {
    for (const auto& entry : part.tags.all) {
      if (!entry->scalars.segments.all.empty()) names.emplace(Kind::scalars, entry->tag);
      for (const auto& [kind, blobs] : entry->blobs) {
        if (!blobs.segments.all.empty()) names.emplace(static_cast<Kind>(kind), entry->tag);
      }
    }
  };
  for (const auto& part : all_parts()) add(*part);
}

bool LiveRun::has_fresh_tag(const std::function<bool(const std::string&)>& is) const {
  return std::any_of(fresh_.begin(), fresh_.end(), [&](const Part* part) {
    return std::any_of(part->tags.all.begin(), part->tags.all.end(),
                       [&](const auto& entry) { return is(entry->tag); });
  });
}

bool LiveRun::recheck(const SeriesNames& series) {
  SeriesNames names;
  add_tags(names);
  bool any = false;
  for (const auto& each : series) {
    if (!names.contains(each)) continue;
    stale_.insert(each.second);
    any = true;
  }
  dirty_ = dirty_ || any;
  return any;
}

void LiveRun::join(Joiner& joiner, const Parts& parts, const RunSessions& sessions,
                   std::vector<FileReport>& files) const {
  size_t before[kKindCount];
  for (size_t kind = 0; kind < kKindCount; ++kind) before[kind] = joiner.blobs[kind].size();
  joiner.add(index, parts, sessions);
  std::vector<uint32_t> places(reports_.size());
  for (const auto& file : files_) {
    places[file->id] = static_cast<uint32_t>(files.size());
    files.push_back(reports_[file->id]);
    files.back().run = index;
  }
  for (size_t kind = 0; kind < kKindCount; ++kind) {
    BlobTable& rows = joiner.blobs[kind];
    for (size_t row = before[kind]; row < rows.size(); ++row) rows[row].file = places[rows[row].file];
  }
}

void LiveRun::retract(const Part& part, std::vector<RetractedRow>& out) const {
  for (const auto& entry : part.tags.all) {
    const auto rows_of = [&](Kind kind, const std::vector<Segment>& segments, auto&& row_of) {
      for (const Segment& segment : segments) {
        const auto found = delivered_.find(&segment);
        if (found == delivered_.end()) continue;
        for (const Stretch& stretch : found->second) {
          for (uint64_t row = stretch.begin; row < stretch.end; ++row) {
            RetractedRow& gone = out.emplace_back();
            gone.run = name_;
            gone.tag = entry->tag;
            gone.kind = kind;
            row_of(row, gone);
          }
        }
      }
    };
    rows_of(Kind::scalars, entry->scalars.segments.all, [&](uint64_t row, RetractedRow& gone) {
      const ScalarRow scalar = entry->scalars.row(row);
      gone.step = scalar.step;
      gone.wall_time = scalar.wall_time;
      gone.value = scalar.value;
    });
    for (const auto& of_kind : entry->blobs) {
      const BlobSeries& series = of_kind.second;  // not a structured binding: clang 14 cannot capture those
      rows_of(static_cast<Kind>(of_kind.first), series.segments.all, [&](uint64_t row, RetractedRow& gone) {
        gone.step = series.rows[row].step;
        gone.wall_time = series.rows[row].wall_time;
      });
    }
  }
}

std::vector<LiveRun::SessionState> LiveRun::states_of(const RunSessions& sessions) const {
  std::vector<SessionState> states;
  const auto& ordered = sessions.ordered;
  for (size_t i = 0; i < ordered.size(); ++i) {
    states.push_back({ordered[i].file, ordered[i].offset, sessions.starts[i], first_later(ordered, i)});
  }
  return states;
}

bool LiveRun::may_merge() const {
  return std::any_of(files_.begin(), files_.end(),
                     [](const auto& file) { return parts_to_merge(file->parts) < file->parts.size(); });
}

void LiveRun::merge_parts(LiveReader& reader, const SeriesNames* hidden, const StopFlag& stop) {
  std::vector<Parts> merged;  // one entry per file
  Parts parts;
  bool any = false;
  for (const auto& file : files_) {
    merged.push_back(file->parts);
    any = merge_parts_of(reader, *file, merged.back(), stop) || any;
    parts.insert(parts.end(), merged.back().begin(), merged.back().end());
    if (file->tail) parts.push_back(file->tail);
  }
  if (!any || stop.is_set()) return;
  // The same rows in new parts: they were already delivered.
  Delivered delivered;
  Delivery delivery{delivered, fresh_, {}, true, true, hidden, {}, {}};
  Joiner joiner(options_, reader.pool, true);
  joiner.set_delivery(&delivery);
  joiner.add(index, parts, order(parts));
  // Nothing can fail from here on.
  delivery.commit();
  delivered_ = std::move(delivered);
  for (size_t i = 0; i < files_.size(); ++i) files_[i]->parts = std::move(merged[i]);
}

// The same for the parts of one file; returns whether there was something to merge.
bool LiveRun::merge_parts_of(LiveReader& reader, const LiveFile& file, Parts& parts, const StopFlag& stop) {
  const size_t first = parts_to_merge(parts);
  if (first == parts.size()) return false;
  const uint64_t begin = parts[first]->begin;
  const uint64_t end = parts.back()->stopped;
  File handle;
  if (handle.open(file.path) != 0 || !file.remembers(handle)) return false;
  auto merged = decode(reader, handle, file, begin, end, stop);
  uint64_t records = 0;
  for (size_t i = first; i < parts.size(); ++i) records += parts[i]->records;
  // The merged part must equal the old parts; if it does not, the next check finds the file's change.
  if (merged->stopped != end || merged->records != records || assumed_wrongly(*merged, plugins_))
    return false;
  parts.resize(first);
  parts.push_back(std::move(merged));
  return true;
}

std::vector<Curve> LiveRun::curves(const std::vector<std::string>& tags) const {
  const Parts parts = all_parts();
  const RunSessions sessions = order(parts);
  const double began = times().first;
  struct Piece {
    uint32_t session = 0;
    size_t part = 0;
    const ScalarSeries* series = nullptr;
    const Stretches* stretches = nullptr;
  };
  std::vector<Curve> curves;
  for (const std::string& tag : tags) {
    std::vector<Piece> pieces;
    for (size_t part = 0; part < parts.size(); ++part) {
      const TagEntry* entry = parts[part]->tags.find(tag);
      if (!entry) continue;
      for (const Segment& segment : entry->scalars.segments.all) {
        const auto found = delivered_.find(&segment);
        if (found == delivered_.end()) continue;
        pieces.push_back({sessions.places[part][segment.session], part, &entry->scalars, &found->second});
      }
    }
    std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
      return std::pair(a.session, a.part) < std::pair(b.session, b.part);
    });
    Curve& curve = curves.emplace_back();
    curve.began = std::isfinite(began) ? began : 0;
    for (const Piece& piece : pieces) {
      for (const Stretch& stretch : *piece.stretches) {
        uint64_t first = 0;
        for (const ScalarChunk& chunk : piece.series->chunks) {
          const uint64_t low = std::max(stretch.begin, first);
          const uint64_t high = std::min(stretch.end, first + chunk.rows);
          if (low < high) {
            const size_t at = static_cast<size_t>(low - first);
            curve.points.push_back({chunk.steps() + at, chunk.wall_times() + at, chunk.values() + at,
                                    static_cast<size_t>(high - low)});
          }
          first += chunk.rows;
        }
      }
    }
  }
  return curves;
}

std::pair<double, double> LiveRun::times() const {
  double began = HUGE_VAL;
  double ended = -HUGE_VAL;
  for (const auto& file : files_) {
    const TimeSpan& times = reports_[file->id].times;
    if (!times.known) continue;
    began = std::min(began, times.start());
    ended = std::max(ended, times.end);
  }
  return began <= ended ? std::pair(began, ended) : std::pair(std::nan(""), std::nan(""));
}

RunEnd LiveRun::end() const {
  RunEnds ends;
  for (const auto& file : files_) ends.add(reports_[file->id]);
  return ends.end();
}

void LiveRun::join_all(Joiner& joiner, std::vector<FileReport>& files) const {
  const Parts parts = all_parts();
  join(joiner, parts, order(parts), files);
}

}  // namespace tbq
