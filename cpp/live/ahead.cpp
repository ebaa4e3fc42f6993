// Decodes pieces of a large file's new bytes on several threads.
#include <algorithm>

#include "decode/file_opener.hpp"
#include "live/live_run.hpp"
#include "record/recovery.hpp"

namespace tbq {
void LiveRun::plan_ahead(BlockReader& reader, std::vector<AheadJob>& jobs) {
  for (size_t i = 0; i < files_.size(); ++i) {
    LiveFile& file = *files_[i];
    file.ahead = {};
    if (file.change == FileChange::none || file.change == FileChange::gone) continue;
    const uint64_t begin = file.begin_of_new_bytes();
    const uint64_t bytes = std::min(file.now.size, file.until) - begin;
    if (options_.threads < 2 || bytes < 2 * options_.split) continue;
    File handle;
    if (handle.open(file.path) != 0 || content_of(handle, reader) != FileContent::records ||
        (begin > 0 && !file.remembers(handle))) {
      continue;
    }
    file.ahead.status = handle.status();
    // More pieces than threads, because pieces take different times.
    const uint64_t count = std::min<uint64_t>(bytes / options_.split, 4 * options_.threads);
    for (uint64_t k = 0; k < count; ++k) {
      const uint64_t limit = k + 1 == count ? file.until : begin + bytes / count * (k + 1);
      file.ahead.pieces.push_back({begin + bytes / count * k, limit, nullptr});
      jobs.push_back({this, i, static_cast<size_t>(k)});
    }
  }
}

void LiveRun::read_ahead(LiveReader& reader, const StopFlag& stop, const AheadJob& job) {
  const LiveFile& file = *files_[job.file];
  Ahead::Piece& piece = files_[job.file]->ahead.pieces[job.piece];
  File handle;
  if (handle.open(file.path) != 0 || !handle.status().is_same_file(file.now)) return;
  uint64_t begin = piece.begin;
  if (job.piece > 0) {
    reader.reader.reset(&handle, handle.size());
    begin = Recovery(reader.reader, &stop).find_record(begin).resume;
    if (begin >= piece.limit) return;
  }
  piece.part = decode(reader, handle, file, begin, piece.limit, stop);
}

// Adds consecutive pieces as settled parts. Returns the part after them, up to the file's end or to the limit
// of this poll; null if it was not decoded.
std::shared_ptr<Part> LiveRun::decode_ahead(LiveReader& reader, LiveFile& file, const File& handle,
                                            const Ahead& ahead, const StopFlag& stop) {
  if (ahead.pieces.empty() || ahead.pieces[0].begin != file.settled) return nullptr;
  file.status = ahead.status;  // later changes are found by the next check
  for (const Ahead::Piece& piece : ahead.pieces) {
    if (file.settled >= piece.limit) continue;
    std::shared_ptr<Part> part = piece.part;
    // If the piece begins elsewhere, it is wrong: the walk from the file's beginning is right.
    if (!part || part->begin != file.settled)
      part = decode(reader, handle, file, file.settled, piece.limit, stop);
    if (&piece == &ahead.pieces.back()) return part;
    if (part->error != 0 || part->truncated > 0 || part->settled != part->stopped ||
        part->stopped <= file.settled) {
      return nullptr;
    }
    file.settled = part->stopped;
    file.parts.push_back(std::move(part));
  }
  return nullptr;
}

}  // namespace tbq
