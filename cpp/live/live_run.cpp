// Files that grow become parts; the join of all parts says which rows are visible; the difference is what is
// new.
#include "live/live_run.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "decode/file_opener.hpp"
#include "decode/file_report.hpp"
#include "live/pack.hpp"
#include "live/transfer.hpp"

namespace tbq {
void LiveRun::set_files(const std::vector<std::string>& paths) {
  std::map<std::string, std::unique_ptr<LiveFile>> known;
  for (auto& file : files_) known.emplace(file->path, std::move(file));
  files_.clear();
  files_.resize(paths.size());
  std::vector<bool> used(reports_.size(), false);
  for (size_t i = 0; i < paths.size(); ++i) {
    const auto found = known.find(paths[i]);
    if (found == known.end() || !found->second) continue;
    used[found->second->id] = true;
    files_[i] = std::move(found->second);
  }
  size_t free = 0;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (files_[i]) continue;
    while (free < used.size() && used[free]) ++free;
    if (free == reports_.size()) reports_.emplace_back();
    files_[i] = std::make_unique<LiveFile>();
    files_[i]->path = paths[i];
    files_[i]->id = static_cast<uint32_t>(free);
    reports_[free++] = {};
    dirty_ = true;
  }
  for (auto& [path, file] : known) {
    if (!file) continue;
    drop(*file);
    if (file->known && file->status.error == 0) changes_.push_back({name_, path, FileChange::gone});
    dirty_ = true;
  }
}

bool LiveRun::look(uint64_t& bytes) {
  bool any = dirty_;
  for (auto& file : files_) {
    file->now = status_of(file->path);
    file->change = file->compare(file->now);
    if (file->known && file->now.error == 0 && file->opened.state == FileState::unreadable) {
      // It may not be read; its status need not change when it may.
      file->change = File().open(file->path) == 0 ? FileChange::replaced : FileChange::none;
    }
    file->until = UINT64_MAX;
    any = any || file->change != FileChange::none;
    bytes += file->news();
  }
  return any;
}

uint64_t LiveRun::limit(uint64_t bytes) {
  uint64_t left = 0;
  for (auto& file : files_) {
    const uint64_t news = file->news();
    if (bytes == 0 && file->change == FileChange::grown) {
      file->change = FileChange::none;
      left += news;
      continue;
    }
    const uint64_t taken = std::min(news, std::max<uint64_t>(bytes, 1));
    if (taken < news) file->until = file->begin_of_news() + taken;
    left += news - taken;
    bytes -= std::min(bytes, taken);
  }
  return left;
}

void LiveRun::drop(LiveFile& file) {
  dropped_.insert(dropped_.end(), file.parts.begin(), file.parts.end());
  if (file.tail) dropped_.push_back(file.tail);
  file.parts.clear();
  file.tail.reset();
  file.settled = file.unfinished = 0;
  file.first = file.last = {};
}

Parts LiveRun::all_parts() const {
  Parts parts;
  for (const auto& file : files_) {
    parts.insert(parts.end(), file->parts.begin(), file->parts.end());
    if (file->tail) parts.push_back(file->tail);
  }
  return parts;
}

std::shared_ptr<Part> LiveRun::decode(LiveReader& reader, const File& handle, uint32_t file, uint64_t begin,
                                      uint64_t limit, const std::atomic<bool>* cancelled) {
  PartOptions options;
  options.kinds = options_.kinds;
  if (options_.restarts != Restarts::tensorboard) {
    options.first_step = options_.first_step;
    options.last_step = options_.last_step;
  }
  options.defer = true;
  options.careful = true;
  options.general_only = options_.general_only;
  options.run = index;
  options.plugins = &plugins_;
  options.select = &options_.select;
  options.cancelled = cancelled;
  auto part = std::make_shared<Part>();
  part->file = file;
  decode_part(handle, reader.reader, reader.pool, options, begin, limit, *part);
  pack(*part, reader.pool, reader.much ? &reader.kept : nullptr);
  return part;
}

void LiveRun::read_file(LiveReader& reader, LiveFile& file, const std::atomic<bool>* cancelled) {
  FileReport report;
  report.path = file.path;
  report.run = index;
  reports_[file.id] = report;
  File handle;
  const bool readable = FileOpener(options_, reports_).open(file.id, handle, reader.reader);
  file.opened = reports_[file.id];
  file.known = true;
  file.status = file.now;
  if (file.opened.state == FileState::unreadable) {
    drop(file);
    return;
  }
  if (!file.opened.compressed) file.status = handle.status();
  if (!readable) {
    drop(file);
    return;
  }
  if (file.opened.compressed || file.change != FileChange::grown || !file.remembers(handle)) {
    if (file.change == FileChange::grown) file.change = FileChange::replaced;
    drop(file);
  }
  file.again = true;  // if what follows is stopped
  const std::shared_ptr<Part> before = std::move(file.tail);
  file.tail.reset();
  file.unfinished = 0;
  if (before) dropped_.push_back(before);
  const uint64_t until = file.opened.compressed ? UINT64_MAX : file.until;
  auto part = decode_ahead(reader, file, handle, cancelled);
  if (!part && file.settled < until) part = decode(reader, handle, file.id, file.settled, until, cancelled);
  // What is not settled depends on all that follows.
  if (part && until != UINT64_MAX && (part->settled < part->stopped || part->settled <= file.settled))
    part = decode(reader, handle, file.id, file.settled, UINT64_MAX, cancelled);
  if (!part) {
    // Pieces that were decoded ahead reach up to the limit.
  } else if (part->error == 0 && part->settled > file.settled) {
    if (part->settled < part->stopped) {
      auto settled = decode(reader, handle, file.id, file.settled, part->settled, cancelled);
      file.settled = part->settled;
      file.parts.push_back(std::move(settled));
      fresh_.insert(file.parts.back().get());
      file.tail = decode(reader, handle, file.id, file.settled, UINT64_MAX, cancelled);
    } else {
      file.settled = part->settled;
      file.unfinished = part->truncated;
      part->truncated = 0;
      file.parts.push_back(std::move(part));
      fresh_.insert(file.parts.back().get());
    }
  } else {
    file.tail = std::move(part);
  }
  if (file.tail) fresh_.insert(file.tail.get());
  reader.reader.reset(&handle, handle.size());  // pieces may have been read by others
  file.remember(reader.reader);
  if (before) keep_place(before, file);
  file.again = (cancelled && cancelled->load(std::memory_order_relaxed)) ||
               (!file.tail && file.settled >= until && file.settled < file.status.size);
}

// What was delivered of a part that was decoded again stays delivered.
void LiveRun::keep_place(const std::shared_ptr<Part>& before, const LiveFile& file) {
  const auto found = std::find_if(file.parts.begin(), file.parts.end(),
                                  [&](const auto& part) { return part->begin == before->begin; });
  if (found != file.parts.end()) {
    transfer(*before, **found, delivered_);
  } else if (file.tail && file.tail->begin == before->begin) {
    transfer(*before, *file.tail, delivered_);
  }
}

// Decodes parts again whose kinds were decided by a plugin that is not the tag's.
void LiveRun::correct_plugins(LiveReader& reader, const std::atomic<bool>* cancelled) {
  const Parts parts = all_parts();
  plugins_ = plugins_of(parts, order(parts), nullptr);
  for (auto& file : files_) {
    const auto correct = [&](std::shared_ptr<Part>& part, uint64_t limit) {
      if (!assumed_wrongly(*part, plugins_)) return;
      File handle;
      if (handle.open(file->opened.unpacked.empty() ? file->path : file->opened.unpacked) != 0) return;
      auto again = decode(reader, handle, file->id, part->begin, limit, cancelled);
      if (again->stopped != part->stopped || again->records != part->records)
        return;  // it is another file now
      again->truncated = part->truncated;
      fresh_.insert(again.get());
      transfer(*part, *again, delivered_);
      dropped_.push_back(std::move(part));
      part = std::move(again);
    };
    for (auto& part : file->parts) correct(part, part->stopped);
    if (file->tail) correct(file->tail, UINT64_MAX);
  }
}

void LiveRun::read(LiveReader& reader, const std::atomic<bool>* cancelled) {
  dirty_ = true;  // until all is done
  for (auto& file : files_) {
    if (file->change == FileChange::none) continue;
    if (file->change == FileChange::gone) {
      drop(*file);
      file->status = file->now;
      file->opened.state = FileState::unreadable;
      file->opened.error = file->now.error;
    } else {
      read_file(reader, *file, cancelled);
    }
    file->ahead = {};
    changes_.push_back({name_, file->path, file->change});
    file->change = FileChange::none;
  }
  for (const auto& file : files_) reports_[file->id].path = file->path;
  correct_plugins(reader, cancelled);
}

void LiveRun::update(LiveReader& reader, const Asked& asked, RunsUpdate& out) {
  const Parts parts = all_parts();
  const RunSessions sessions = order(parts);
  for (const auto& part : dropped_) {
    for (const auto& entry : part->tags.all) stale_.insert(entry->tag);
    retract(*part, asked.silent ? nullptr : &out.retracted);
  }
  dropped_.clear();

  std::vector<SessionState> states = states_of(sessions);
  Delivery delivery{delivered_, fresh_, std::move(stale_), states != states_, asked.silent, asked.hidden, {}};
  stale_.clear();
  states_ = std::move(states);
  for (const auto& file : files_) {
    FileReport& report = reports_[file->id];
    report = file->opened;
    report.path = file->path;
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
  fresh_.clear();
  std::move(changes_.begin(), changes_.end(), std::back_inserter(out.changes));
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

bool LiveRun::look_again_at(const SeriesNames& series) {
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

void LiveRun::retract(const Part& part, std::vector<RetractedRow>* out) {
  for (const auto& entry : part.tags.all) {
    const auto rows_of = [&](Kind kind, const std::vector<Segment>& segments, auto&& row_of) {
      for (const Segment& segment : segments) {
        const auto found = delivered_.find(&segment);
        if (found == delivered_.end()) continue;
        for (const Stretch& stretch : found->second) {
          for (uint64_t row = stretch.begin; out && row < stretch.end; ++row) {
            RetractedRow& gone = out->emplace_back();
            gone.run = name_;
            gone.tag = entry->tag;
            gone.kind = kind;
            row_of(row, gone);
          }
        }
        delivered_.erase(found);
      }
    };
    rows_of(Kind::scalars, entry->scalars.segments.all, [&](uint64_t row, RetractedRow& gone) {
      const ScalarRow scalar = entry->scalars.row(row);
      gone.step = scalar.step;
      gone.wall_time = scalar.wall_time;
      gone.value = scalar.value;
    });
    for (const auto& of_kind : entry->blobs) {
      const BlobSeries& series = of_kind.second;  // not a binding: clang 14 cannot capture those
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
    const auto later =
        std::partition_point(ordered.begin() + static_cast<std::ptrdiff_t>(i), ordered.end(),
                             [&](const RunSession& s) { return !(s.times.begin > ordered[i].times.end); });
    states.push_back({ordered[i].file, ordered[i].offset, sessions.starts[i],
                      static_cast<size_t>(later - ordered.begin())});
  }
  return states;
}

void LiveRun::merge_parts(LiveReader& reader, const SeriesNames* hidden) {
  bool any = false;
  for (auto& file : files_) {
    const size_t first = parts_to_merge(file->parts);
    if (first == file->parts.size()) continue;
    const uint64_t begin = file->parts[first]->begin;
    const uint64_t end = file->parts.back()->stopped;
    File handle;
    if (file->opened.compressed || handle.open(file->path) != 0 || !file->remembers(handle)) continue;
    auto merged = decode(reader, handle, file->id, begin, end, nullptr);
    uint64_t records = 0;
    for (size_t i = first; i < file->parts.size(); ++i) records += file->parts[i]->records;
    // What is merged is what was there; otherwise the next look finds what happened to the file.
    if (merged->stopped != end || merged->records != records || assumed_wrongly(*merged, plugins_)) continue;
    file->parts.resize(first);
    file->parts.push_back(std::move(merged));
    any = true;
  }
  if (!any) return;
  // The same rows in other places: they have been delivered already.
  const Parts parts = all_parts();
  delivered_.clear();
  Delivery delivery{delivered_, fresh_, {}, true, true, hidden, {}};
  Joiner joiner(options_, reader.pool, true);
  joiner.set_delivery(&delivery);
  joiner.add(index, parts, order(parts));
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
            curve.points.push_back({chunk.steps() + at, chunk.walls() + at, chunk.values() + at,
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

void LiveRun::join_all(Joiner& joiner, std::vector<FileReport>& files) const {
  const Parts parts = all_parts();
  join(joiner, parts, order(parts), files);
}

}  // namespace tbq
