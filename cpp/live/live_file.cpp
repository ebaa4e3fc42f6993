// Detects how a followed file changed, and decides which of its parts to merge.
#include "live/live_file.hpp"

#include <algorithm>

#include "bytes/crc32c.hpp"
#include "io/input.hpp"
#include "record/framing.hpp"

namespace tbq {
namespace {

constexpr uint64_t kCompared = 4096;
constexpr size_t kTogether = 4;                  // merge if there are this many parts
constexpr uint64_t kLarge = uint64_t{12} << 20;  // a part of this many bytes is not merged

}  // namespace

const char* file_change_name(FileChange change) {
  static constexpr const char* names[] = {"none", "new", "grown", "replaced", "gone"};
  return names[static_cast<size_t>(change)];
}

FileChange LiveFile::compare(const FileStatus& found) const {
  if (!known) return found.error == 0 ? FileChange::added : FileChange::none;
  if (found.is_unwritten_since(status)) return has_rest ? FileChange::grown : FileChange::none;
  if (found.error != 0) return status.error != 0 ? FileChange::none : FileChange::gone;
  if (status.error != 0 || !found.is_same_file(status) || found.size < status.size)
    return FileChange::replaced;
  if (found.size == status.size && found.modified != status.modified && !has_rest)
    return FileChange::replaced;  // overwritten in place
  return FileChange::grown;
}

Fingerprint Fingerprint::of(BlockReader& reader, uint64_t begin, uint64_t end) {
  Fingerprint fingerprint;
  const auto count = static_cast<size_t>(end - begin);
  const uint8_t* data = count > 0 ? reader.view(begin, count) : nullptr;
  if (data) {
    fingerprint = {begin, static_cast<uint32_t>(count), crc32c(0, data, count)};
  } else if (count > 0) {
    fingerprint.crc = 1;  // the file is now shorter: no file matches this
  }
  return fingerprint;
}

bool Fingerprint::is_of(const File& file) const {
  uint8_t bytes[kCompared];
  uint32_t have = 0;
  while (have < size) {
    const int64_t got = file.read_at(begin + have, bytes + have, size - have);
    if (got <= 0) return false;
    have += static_cast<uint32_t>(got);
  }
  return crc32c(0, bytes, size) == crc;
}

void LiveFile::remember(BlockReader& reader) {
  // How the bytes before `settled` were understood may depend on the header after them.
  last = Fingerprint::of(reader, settled - std::min(settled, kCompared - kHeader),
                         std::min(settled + kHeader, reader.end()));
  if (first.size < kCompared) first = Fingerprint::of(reader, 0, std::min(settled, kCompared));
}

bool LiveFile::remembers(const File& file) const { return first.is_of(file) && last.is_of(file); }

size_t parts_to_merge(const Parts& parts) {
  size_t begin = parts.size();
  uint64_t bytes = 0;
  while (begin > 0) {
    const uint64_t size = parts[begin - 1]->stopped - parts[begin - 1]->begin;
    if (size > kLarge || (parts.size() - begin >= 2 && size > 2 * bytes)) break;
    bytes += size;
    --begin;
  }
  return parts.size() - begin >= kTogether ? begin : parts.size();
}

}  // namespace tbq
