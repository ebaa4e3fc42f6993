// The search for records behind damage, with a bound on what crafted headers can make it cost.
#include "recovery.hpp"

#include <algorithm>

#include "tbq/crc32c.hpp"
#include "tbq/record.hpp"

namespace tbq {
namespace {

// How many bytes may be checksummed for records that turn out to be none, before a valid header behind one is
// required first: crafted headers could otherwise make a file cost the square of its size.
constexpr uint64_t kFailedBudget = uint64_t{256} << 20;
constexpr size_t kPiece = 64 * 1024;

}  // namespace

bool Recovery::followed(uint64_t offset) {
  if (offset == reader_.end()) return true;
  const uint8_t* header = reader_.view(offset, kHeader);
  uint64_t length;
  return header && read_header(header, length);
}

bool Recovery::agrees(uint64_t at, uint64_t length) {
  uint32_t crc = 0;
  uint64_t offset = at + kHeader;
  for (uint64_t left = length; left > 0;) {
    const auto piece = static_cast<size_t>(std::min<uint64_t>(left, kPiece));
    const uint8_t* data = reader_.view(offset, piece);
    if (!data) return false;
    crc = crc32c(crc, data, piece);
    offset += piece;
    left -= piece;
    if (cancelled()) return false;
  }
  const uint8_t* masked = reader_.view(offset, 4);
  const bool good = masked && crc_mask(crc) == load_le<uint32_t>(masked);
  if (!good) failed_bytes_ += length;
  return good;
}

Recovery::Found Recovery::find_record(uint64_t from) {
  uint64_t unfinished = 0;
  for (uint64_t at = from; !cancelled();) {
    const uint8_t* data;
    const size_t size = reader_.available(at, data);
    if (size < kHeader) {
      if (reader_.end() - at < kHeader || !reader_.view(at, kHeader)) break;
      continue;
    }
    const size_t offset = find_header({data, size}, UINT64_MAX >> 1);
    if (offset == size) {
      at += size - (kHeader - 1);
      continue;
    }
    at += offset;
    const uint64_t length = load_le<uint64_t>(data + offset);
    const uint64_t left = reader_.end() - at;
    if (left < kOverhead || length > left - kOverhead) {
      if (unfinished == 0) unfinished = at;
      ++at;
      continue;
    }
    const uint64_t next = at + kOverhead + length;
    if (failed_bytes_ > kFailedBudget && !followed(next)) {
      ++at;
      continue;
    }
    if (agrees(at, length)) return {at, true};
    if (followed(next)) return {next, true};
    ++at;
  }
  return {unfinished > 0 ? unfinished : reader_.end(), false};
}

}  // namespace tbq
