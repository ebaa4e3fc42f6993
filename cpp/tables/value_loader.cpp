// Reads deferred values. A file that changes in the meantime is a problem of a value, not a failure.
#include "tables/value_loader.hpp"

#include <algorithm>

#include "record/framing.hpp"

namespace tbq {
namespace {

constexpr const char* kChanged = "the file changed or disappeared while it was read";

}  // namespace

ValueLoader::ValueLoader(const std::vector<FileReport>& files) {
  for (const FileReport& file : files) paths_.push_back(file.unpacked.empty() ? file.path : file.unpacked);
  verified_.resize(files.size());
}

Bytes ValueLoader::load(const BlobRow& row, const char*& what) {
  what = nullptr;
  if (!row.deferred) return {row.payload, static_cast<size_t>(row.payload_length)};
  const uint64_t length = row.record_length;
  if (!lies_in_file(row)) {
    what = kChanged;
    return {};
  }
  auto& verified = verified_[row.file];
  if (verified.contains(row.record)) {
    if (!read(row.record + kHeader + row.payload_offset, row.payload_length, what)) return {};
    return {buffer(), static_cast<size_t>(row.payload_length)};
  }
  if (!read(row.record, length + kOverhead, what)) return {};
  const uint8_t* data = buffer();
  if (!record_agrees(data, length)) {
    what = "a record's data does not match its checksum";
    return {};
  }
  verified.insert(row.record);
  return {data + kHeader + row.payload_offset, static_cast<size_t>(row.payload_length)};
}

Bytes ValueLoader::head(const BlobRow& row, size_t most) {
  const size_t length = std::min<size_t>(row.payload_length, most);
  if (!row.deferred) return {row.payload, length};
  const char* what = nullptr;
  if (!lies_in_file(row) || !read(row.record + kHeader + row.payload_offset, length, what)) return {};
  return {buffer(), length};
}

bool ValueLoader::lies_in_file(const BlobRow& row) {
  if (row.file != current_ || !opened_) {
    file_.close();
    current_ = row.file;
    opened_ = file_.open(paths_[row.file]) == 0;
  }
  const uint64_t length = row.record_length;
  return opened_ && length <= file_.size() && row.record <= file_.size() - length &&
         row.payload_length <= length && row.payload_offset <= length - row.payload_length;
}

bool ValueLoader::read(uint64_t offset, uint64_t count, const char*& what) {
  buffer_.clear();
  char* to = buffer_.extend(static_cast<size_t>(count));
  for (uint64_t done = 0; done < count;) {
    const int64_t got = file_.read_at(offset + done, to + done, static_cast<size_t>(count - done));
    if (got <= 0) {
      what = kChanged;
      return false;
    }
    done += static_cast<uint64_t>(got);
  }
  return true;
}

}  // namespace tbq
