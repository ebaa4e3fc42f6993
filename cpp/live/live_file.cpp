#include "live/live_file.hpp"

#include <algorithm>

#include "io/input.hpp"

namespace tbq {
namespace {

constexpr size_t kCompared = 32;
constexpr size_t kTogether = 4;                  // so many parts are worth to be merged
constexpr uint64_t kLarge = uint64_t{64} << 20;  // a part of so many bytes is left alone

std::string bytes_at(const File& file, uint64_t offset, size_t count) {
  std::string bytes(count, '\0');
  const int64_t got = file.read_at(offset, bytes.data(), count);
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

}  // namespace

const char* file_change_name(FileChange change) {
  switch (change) {
    case FileChange::none:
      return "none";
    case FileChange::added:
      return "new";
    case FileChange::grown:
      return "grown";
    case FileChange::replaced:
      return "replaced";
    case FileChange::gone:
      return "gone";
  }
  return "";
}

FileChange LiveFile::compare(const FileStatus& found) const {
  if (!known) return found.error == 0 ? FileChange::added : FileChange::none;
  if (found == status) return again ? FileChange::grown : FileChange::none;
  if (found.error != 0) return status.error != 0 ? FileChange::none : FileChange::gone;
  if (status.error != 0 || !found.is_same_file(status) || found.size < status.size)
    return FileChange::replaced;
  if (found.size == status.size && found.modified != status.modified && !again)
    return FileChange::replaced;  // in its place
  return FileChange::grown;
}

void LiveFile::remember(const File& file, BlockReader& reader) {
  const auto count = static_cast<size_t>(std::min<uint64_t>(settled, kCompared));
  const uint8_t* data = reader.view(settled - count, count);  // it was read just now
  last =
      data ? std::string(reinterpret_cast<const char*>(data), count) : bytes_at(file, settled - count, count);
  if (settled == count) {
    first = last;
  } else if (first.size() < kCompared) {
    data = reader.view(0, count);
    first = data ? std::string(reinterpret_cast<const char*>(data), count) : bytes_at(file, 0, count);
  }
}

bool LiveFile::remembers(const File& file) const {
  return bytes_at(file, 0, first.size()) == first &&
         bytes_at(file, settled - last.size(), last.size()) == last;
}

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
