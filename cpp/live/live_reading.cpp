// Reads the files of a run: continues where they grew, or starts again.
#include <algorithm>

#include "decode/below.hpp"
#include "decode/file_opener.hpp"
#include "live/live_run.hpp"
#include "live/pack.hpp"
#include "live/transfer.hpp"

namespace tbq {

std::shared_ptr<Part> LiveRun::decode(LiveReader& reader, const File& handle, const LiveFile& file,
                                      uint64_t begin, uint64_t limit, const StopFlag& stop) {
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
  if (file.is_below) options.renamed = &renamed_;
  options.select = &options_.select;
  options.stop = &stop;
  auto part = std::make_shared<Part>();
  part->file = file.id;
  decode_part(handle, reader.reader, reader.pool, options, begin, limit, *part);
  pack(*part, reader.pool, reader.much ? &reader.kept : nullptr);
  return part;
}

// Reads a file again, or continues it. The new state replaces the known state only when it is complete: if
// this fails, or is stopped and returns false, nothing has changed.
bool LiveRun::read_file(LiveReader& reader, LiveFile& known, const StopFlag& stop) {
  const Ahead ahead = std::exchange(known.ahead, {});
  LiveFile file = known;
  std::vector<FileReport> opened(1);
  opened[0].path = file.path;
  opened[0].name = file.name;
  opened[0].run = index;
  File handle;
  const bool readable = FileOpener(options_, opened).open(0, handle, reader.reader);
  file.opened = std::move(opened[0]);
  file.known = true;
  file.has_rest = false;
  file.status = file.now;
  if (file.opened.state != FileState::unreadable && !file.opened.compressed) file.status = handle.status();
  Parts dropped;
  if (!readable || file.opened.compressed || file.change != FileChange::grown || !file.remembers(handle)) {
    if (readable && file.change == FileChange::grown) file.change = FileChange::replaced;
    file.add_parts(dropped);
    file.forget_parts();
  }
  const size_t kept = file.parts.size();
  const std::shared_ptr<Part> before = std::exchange(file.tail, nullptr);
  if (readable) {
    if (before) dropped.push_back(before);
    read_parts(reader, file, handle, ahead, stop);
  }
  if (stop.is_set()) return false;

  std::unordered_set<const Part*> fresh;
  for (size_t i = kept; i < file.parts.size(); ++i) fresh.insert(file.parts[i].get());
  if (file.tail) fresh.insert(file.tail.get());
  fresh_.reserve(fresh_.size() + fresh.size());
  dropped_.insert(dropped_.end(), dropped.begin(), dropped.end());
  // Nothing can fail from here on.
  fresh_.merge(fresh);
  if (before) keep_place(*before, file);
  known = std::move(file);
  return true;
}

// Decodes the bytes after the settled parts of a file.
void LiveRun::read_parts(LiveReader& reader, LiveFile& file, const File& handle, const Ahead& ahead,
                         const StopFlag& stop) {
  file.unfinished = 0;
  const uint64_t until = file.opened.compressed ? UINT64_MAX : file.until;
  auto part = decode_ahead(reader, file, handle, ahead, stop);
  if (!part && file.settled < until) part = decode(reader, handle, file, file.settled, until, stop);
  // Unsettled records depend on everything after them.
  if (part && until != UINT64_MAX && (part->settled < part->stopped || part->settled <= file.settled))
    part = decode(reader, handle, file, file.settled, UINT64_MAX, stop);
  if (!part) {
    // The pieces decoded ahead already reach the limit.
  } else if (part->error == 0 && part->settled > file.settled) {
    if (part->settled < part->stopped) {
      auto settled = decode(reader, handle, file, file.settled, part->settled, stop);
      file.settled = part->settled;
      file.parts.push_back(std::move(settled));
      file.tail = decode(reader, handle, file, file.settled, UINT64_MAX, stop);
    } else {
      file.settled = part->settled;
      file.unfinished = part->truncated;
      part->truncated = 0;
      file.parts.push_back(std::move(part));
    }
  } else {
    file.tail = std::move(part);
  }
  reader.reader.reset(&handle, handle.size());  // other threads may have read the pieces
  file.remember(reader.reader);
  file.has_rest = !file.tail && file.settled >= until && file.settled < file.status.size;
}

// Keeps the rows of a part delivered after the part was decoded again.
void LiveRun::keep_place(const Part& before, const LiveFile& file) noexcept {
  const auto found = std::find_if(file.parts.begin(), file.parts.end(),
                                  [&](const auto& part) { return part->begin == before.begin; });
  if (found != file.parts.end()) {
    transfer(before, **found, delivered_);
  } else if (file.tail && file.tail->begin == before.begin) {
    transfer(before, *file.tail, delivered_);
  }
}

template <class Which>
void LiveRun::decode_again(LiveReader& reader, const StopFlag& stop, Which&& which) {
  for (auto& file : files_) {
    const auto correct = [&](std::shared_ptr<Part>& part, uint64_t limit) {
      if (!which(*file, *part)) return;
      File handle;
      if (handle.open(file->opened.unpacked.empty() ? file->path : file->opened.unpacked) != 0) return;
      auto repeated = decode(reader, handle, *file, part->begin, limit, stop);
      if (stop.is_set() || repeated->stopped != part->stopped || repeated->records != part->records)
        return;  // the file was replaced
      repeated->truncated = part->truncated;
      dropped_.reserve(dropped_.size() + 1);
      fresh_.insert(repeated.get());
      // Nothing can fail from here on.
      transfer(*part, *repeated, delivered_);
      dropped_.push_back(std::move(part));
      part = std::move(repeated);
    };
    for (auto& part : file->parts) correct(part, part->stopped);
    if (file->tail) correct(file->tail, UINT64_MAX);
  }
}

// Decodes parts again if a tag below the run needs another name now, or if their kinds were decided by
// another plugin than the tag's.
void LiveRun::correct(LiveReader& reader, const StopFlag& stop) {
  Parts parts = all_parts();
  renamed_ = renames_of(parts, reports_);
  decode_again(reader, stop, [&](const LiveFile& file, const Part& part) {
    return file.is_below && part.renamed != renamed_;
  });
  parts = all_parts();
  plugins_ = plugins_of(parts, order(parts), nullptr);
  decode_again(reader, stop,
               [&](const LiveFile&, const Part& part) { return assumed_wrongly(part, plugins_); });
}

void LiveRun::read(LiveReader& reader, const StopFlag& stop) {
  dirty_ = true;  // until commit()
  for (const auto& file : files_) {
    reports_[file->id].path = file->path;
    reports_[file->id].name = file->name;
    reports_[file->id].is_below = file->is_below;
  }
  changes_.reserve(changes_.size() + files_.size());
  for (auto& file : files_) {
    if (file->change == FileChange::none) continue;
    LiveChange change{name_, file->path, FileChange::none};
    if (file->change == FileChange::gone) {
      file->add_parts(dropped_);
      file->forget_parts();
      file->status = file->now;
      file->opened.state = FileState::unreadable;
      file->opened.error = file->now.error;
    } else if (!read_file(reader, *file, stop)) {
      return;
    }
    change.what = std::exchange(file->change, FileChange::none);
    changes_.push_back(std::move(change));  // room was reserved above
  }
  correct(reader, stop);
}

}  // namespace tbq
