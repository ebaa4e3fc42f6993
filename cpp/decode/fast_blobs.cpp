// Matches events around a payload by template, and sizes the columns of histograms.
#include "decode/fast_blobs.hpp"

#include <algorithm>
#include <cstring>

namespace tbq {
namespace {

// Columns begin at this row of a tag: by then the expected number of rows can be estimated.
constexpr size_t kFrom = 16;
constexpr uint64_t kLargestColumns = uint64_t{1} << 20;  // bins

bool same(Bytes bytes, size_t offset, const std::string& want) {
  return std::memcmp(bytes.data() + offset, want.data(), want.size()) == 0;
}

}  // namespace

void FastBlobs::learn(TagEntry& entry, const ValueRef& value, Bytes event, Kind kind, BlobSeries& series) {
  if (value.payload.length == 0 || event.size() - value.payload.length > kLongestTemplate) return;
  EventHead head;
  if (!read_head(event, head)) return;
  Cursor summary(event.subspan(head.size));
  if (!enter_last(summary, kSummaryKey)) return;
  if (!entry.blob_template) entry.blob_template = std::make_unique<BlobTemplate>();
  BlobTemplate& known = *entry.blob_template;
  const auto payload = static_cast<size_t>(value.payload.offset);
  known.before = as_text(event.subspan(head.size, payload - head.size));
  known.after = as_text(event.subspan(payload + static_cast<size_t>(value.payload.length)));
  known.value = value;
  known.value.payload.offset -= head.size;
  if (value.has_metadata) known.value.metadata.offset -= head.size;
  known.kind = kind;
  known.series = &series;
}

bool FastBlobs::fits(const BlobTemplate& known, Bytes event, EventHead& head, ValueRef& value) {
  if (!read_head(event, head)) return false;
  const size_t after = head.size + known.before.size() + static_cast<size_t>(known.value.payload.length);
  if (event.size() != after + known.after.size() || !same(event, head.size, known.before) ||
      !same(event, after, known.after)) {
    return false;
  }
  value = known.value;
  value.payload.offset += head.size;
  if (value.has_metadata) value.metadata.offset += head.size;
  return true;
}

bool FastBlobs::store_histogram(uint64_t at, uint64_t left, Bytes payload, BlobSeries& series, BlobRow& row) {
  if (series.rows.size() <= kFrom) return false;
  const bool first = !series.histograms;
  if (first) series.histograms = std::make_unique<HistogramColumns>();
  const Bytes numbers = series.histograms->numbers(payload);
  if (numbers.empty()) return false;
  for (size_t i = 0; first && i + 1 < series.rows.size(); ++i) {
    BlobRow& earlier = series.rows[i];
    if (earlier.deferred || earlier.field != ValueField::tensor) continue;
    const Bytes moved = series.histograms->numbers({earlier.payload, earlier.payload_length});
    if (!moved.empty()) append(at, left, moved, series, earlier);
  }
  append(at, left, numbers, series, row);
  return true;
}

void FastBlobs::append(uint64_t at, uint64_t left, Bytes numbers, BlobSeries& series, BlobRow& row) {
  HistogramColumns& columns = *series.histograms;
  const uint64_t count = numbers.size() / HistogramColumns::kBin;
  if (count > columns.left()) {
    idle_ -= columns.left() * HistogramColumns::kBin;
    const uint64_t most = std::max(count, std::min(expected(at, left, count, series), kLargestColumns));
    const uint64_t capacity =
        (most + HistogramColumns::kLine - 1) / HistogramColumns::kLine * HistogramColumns::kLine;
    const Pool::Block block = pool_.raw(static_cast<size_t>(capacity * HistogramColumns::kBin));
    if (part_.slabs.empty() || part_.slabs.back() != block.slab) part_.slabs.push_back(block.slab);
    columns.grow(block.data, static_cast<uint32_t>(capacity));
    idle_ += capacity * HistogramColumns::kBin;
  }
  columns.append(numbers, row);
  idle_ -= count * HistogramColumns::kBin;
}

// The number of further bins to expect for a tag, `count` per row, if it continues at its rate. The room
// reserved for all tags but not yet filled never exceeds the bytes left to read; beyond that, columns double.
uint64_t FastBlobs::expected(uint64_t at, uint64_t left, uint64_t count, const BlobSeries& series) const {
  const uint64_t rows = series.rows.size();
  const uint64_t passed = std::max<uint64_t>(at - series.rows.front().record, 1);
  const double more =
      static_cast<double>(rows * count) * static_cast<double>(left) / static_cast<double>(passed);
  const uint64_t spare = (rows / 8 + kFrom) * count;
  const uint64_t wanted =
      spare + (more < static_cast<double>(kLargestColumns) ? static_cast<uint64_t>(more) : kLargestColumns);
  return wanted * HistogramColumns::kBin + idle_ <= left ? wanted : rows * count;
}

}  // namespace tbq
