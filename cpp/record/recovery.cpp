// Searches for records after damage, with a limit on the cost that crafted headers can cause.
#include "record/recovery.hpp"

#include <algorithm>

#include "bytes/crc32c.hpp"
#include "record/framing.hpp"

namespace tbq {
namespace {

// The most bytes to checksum for candidates that turn out not to be records. Beyond that, a candidate must be
// followed by a valid header first. Without the limit, crafted headers could make the cost quadratic in the
// file's size.
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
    const bool zeros = data[piece - 1] == 0;
    offset += piece;
    left -= piece;
    if (zeros && left >= kPiece) {  // possibly a hole of a sparse file, which is not read
      const uint64_t hole = std::min(reader_.after_hole(offset) - offset, left);
      crc = crc32c_zeros(crc, hole);
      offset += hole;
      left -= hole;
    }
    if (cancelled()) return false;
  }
  const uint8_t* masked = reader_.view(offset, 4);
  const bool good = masked && crc_mask(crc) == load_le<uint32_t>(masked);
  if (!good) failed_bytes_ += length;
  return good;
}

bool Recovery::find_next(uint64_t& at, uint64_t end, uint64_t& length) {
  while (!cancelled() && at < end && end - at >= kHeader) {
    const uint8_t* data;
    const auto size = static_cast<size_t>(std::min<uint64_t>(reader_.available(at, data), end - at));
    if (size < kHeader) {
      if (!reader_.view(at, kHeader)) return false;
      continue;
    }
    const size_t offset = find_header({data, size}, UINT64_MAX >> 1);
    if (offset < size) {
      at += offset;
      length = load_le<uint64_t>(data + offset);
      return true;
    }
    const uint64_t next = at + size - (kHeader - 1);
    at = next;
    if (std::all_of(data + size - (kHeader - 1), data + size, [](uint8_t byte) { return byte == 0; })) {
      // Every start inside a hole of a sparse file has twelve zeros, which are not a header.
      at = std::max(next, reader_.after_hole(next + (kHeader - 1)) - (kHeader - 1));
    }
  }
  return false;
}

uint64_t Recovery::follow(uint64_t at, uint64_t end) {
  while (end - at >= kOverhead && failed_bytes_ <= kFailedBudget) {
    const uint8_t* header = reader_.view(at, kHeader);
    uint64_t length;
    if (!header || !read_header(header, length) || length >= kLargestEvent || length > end - at - kOverhead ||
        !agrees(at, length)) {
      break;
    }
    at += kOverhead + length;
  }
  return at;
}

uint64_t Recovery::behind(uint64_t at, uint64_t next) {
  if (!followed(next)) return 0;
  uint64_t length;
  for (uint64_t inside = at + 1; find_next(inside, next, length);) {
    const uint64_t end = follow(inside, next);
    if (end == next) return inside;
    inside = std::max(end, inside + 1);
  }
  return next;
}

Recovery::Found Recovery::find_record(uint64_t from) {
  uint64_t unfinished = 0;
  uint64_t length;
  bool settled = true;
  for (uint64_t at = from; find_next(at, reader_.end(), length); ++at) {
    const uint64_t left = reader_.end() - at;
    if (left < kOverhead || length > left - kOverhead) {
      if (unfinished == 0) unfinished = at;
      settled = false;
      continue;
    }
    const uint64_t next = at + kOverhead + length;
    if (failed_bytes_ > kFailedBudget && !followed(next)) continue;
    if (length < kLargestEvent && agrees(at, length)) return {at, true, settled};
    // A header may still be written after it.
    settled = settled && reader_.end() - next >= kHeader;
    if (const uint64_t resume = behind(at, next); resume > 0) return {resume, true, settled};
  }
  return {unfinished > 0 ? unfinished : reader_.end(), false, false};
}

}  // namespace tbq
