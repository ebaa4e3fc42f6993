// Recognises empty files, Git-LFS pointers and compressed files by their first bytes.
#include "decode/file_opener.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "record/framing.hpp"

namespace tbq {
bool looks_compressed(Bytes head) {
  if (head.size() < 2) return false;
  if (head[0] == 0x1f && head[1] == 0x8b) return true;
  return (head[0] & 0x0f) == 8 && (head[0] >> 4) <= 7 && (head[0] * 256 + head[1]) % 31 == 0;
}

FileContent content_of(const File& file, BlockReader& reader) {
  if (file.size() == 0) return FileContent::empty;
  if (file.size() < kHeader) return FileContent::records;
  reader.reset(&file, file.size());
  const uint8_t* header = reader.view(0, kHeader);
  uint64_t length;
  if (!header || read_header(header, length)) return FileContent::records;
  constexpr std::string_view kLfs = "version https://git-lfs";
  const size_t size = static_cast<size_t>(std::min<uint64_t>(kLfs.size(), file.size()));
  const uint8_t* text = reader.view(0, size);
  if (!text) return FileContent::records;
  if (as_text({text, size}) == kLfs) return FileContent::git_lfs;
  return looks_compressed({text, size}) ? FileContent::compressed : FileContent::records;
}

bool FileOpener::open(uint32_t index, File& file, BlockReader& reader) {
  const std::lock_guard lock(mutexes_[index % std::size(mutexes_)]);
  return open_locked(reports_[index], file, reader);
}

bool FileOpener::open_locked(FileReport& report, File& file, BlockReader& reader) {
  report.error = file.open(report.unpacked.empty() ? report.path : report.unpacked);
  if (report.error != 0) {
    report.state = FileState::unreadable;
    return false;
  }
  if (!report.compressed) report.bytes = file.size();
  switch (content_of(file, reader)) {
    case FileContent::records:
      return true;
    case FileContent::empty:
      report.state = FileState::empty;
      return false;
    case FileContent::git_lfs:
      report.state = FileState::git_lfs;
      return false;
    case FileContent::compressed:
      break;
  }
  if (report.compressed || !options_.inflate) return true;
  const std::string unpacked = options_.inflate(report.path);
  if (unpacked.empty()) return true;
  report.compressed = true;
  report.unpacked = unpacked;
  return open_locked(report, file, reader);
}

}  // namespace tbq
