// Templates of events around a payload, and how long the columns of histograms are made.
#include "decode/fast_blobs.hpp"

#include <algorithm>
#include <cstring>

#include "event/head.hpp"

namespace tbq {
namespace {

// Columns begin with this row of a tag: then it can be told how many more may come.
constexpr size_t kFrom = 16;
constexpr uint64_t kLargestColumns = uint64_t{1} << 20;  // triples

bool same(Bytes bytes, size_t offset, const std::string& want) {
  return std::memcmp(bytes.data() + offset, want.data(), want.size()) == 0;
}

}  // namespace

void BlobPath::learn(TagEntry& entry, const ValueRef& value, Bytes event, Kind kind, BlobSeries& series) {
  if (value.payload.length == 0 || event.size() - value.payload.length > kLongestTemplate) return;
  const size_t start = sole_summary(event);
  if (start == 0) return;
  if (!entry.blob_shape) entry.blob_shape = std::make_unique<BlobTemplate>();
  BlobTemplate& shape = *entry.blob_shape;
  const auto payload = static_cast<size_t>(value.payload.offset);
  shape.before = as_text(event.subspan(start, payload - start));
  shape.behind = as_text(event.subspan(payload + static_cast<size_t>(value.payload.length)));
  shape.value = value;
  shape.value.payload.offset -= start;
  if (value.has_metadata) shape.value.metadata.offset -= start;
  shape.kind = kind;
  shape.series = &series;
}

bool BlobPath::fits(const BlobTemplate& shape, Bytes event, int64_t& step, ValueRef& value) {
  const size_t start = behind_step(event, step);
  if (start == 0) return false;
  const size_t behind = start + shape.before.size() + static_cast<size_t>(shape.value.payload.length);
  if (event.size() != behind + shape.behind.size() || !same(event, start, shape.before) ||
      !same(event, behind, shape.behind)) {
    return false;
  }
  value = shape.value;
  value.payload.offset += start;
  if (value.has_metadata) value.metadata.offset += start;
  return true;
}

bool BlobPath::keep_histogram(uint64_t at, uint64_t left, Bytes payload, BlobSeries& series, BlobRow& row) {
  if (series.rows.size() <= kFrom) return false;
  const bool first = !series.triples;
  if (first) series.triples = std::make_unique<Triples>();
  const Bytes numbers = series.triples->numbers(payload);
  if (numbers.empty()) return false;
  for (size_t i = 0; first && i + 1 < series.rows.size(); ++i) {
    BlobRow& earlier = series.rows[i];
    if (earlier.deferred || earlier.form != Form::tensor) continue;
    const Bytes moved = series.triples->numbers({earlier.payload, earlier.payload_length});
    if (!moved.empty()) append(at, left, moved, series, earlier);
  }
  append(at, left, numbers, series, row);
  return true;
}

void BlobPath::append(uint64_t at, uint64_t left, Bytes numbers, BlobSeries& series, BlobRow& row) {
  Triples& triples = *series.triples;
  const uint64_t count = numbers.size() / Triples::kTriple;
  if (count > triples.left()) {
    idle_ -= triples.left() * Triples::kTriple;
    const uint64_t most = std::max(count, std::min(expected(at, left, count, series), kLargestColumns));
    const uint64_t capacity = (most + Triples::kLine - 1) / Triples::kLine * Triples::kLine;
    const Pool::Block block = pool_.raw(static_cast<size_t>(capacity * Triples::kTriple));
    if (part_.slabs.empty() || part_.slabs.back() != block.slab) part_.slabs.push_back(block.slab);
    triples.grow(block.data, static_cast<uint32_t>(capacity));
    idle_ += capacity * Triples::kTriple;
  }
  triples.append(numbers, row);
  idle_ -= count * Triples::kTriple;
}

// How many triples more a tag will have, `count` at a time, if it goes on as it did. What is set aside for
// all tags but not filled is never more than what is left to be read; past that, columns double.
uint64_t BlobPath::expected(uint64_t at, uint64_t left, uint64_t count, const BlobSeries& series) const {
  const uint64_t rows = series.rows.size();
  const uint64_t passed = std::max<uint64_t>(at - series.rows.front().record, 1);
  const double more =
      static_cast<double>(rows * count) * static_cast<double>(left) / static_cast<double>(passed);
  const uint64_t spare = (rows / 8 + kFrom) * count;
  const uint64_t wanted =
      spare + (more < static_cast<double>(kLargestColumns) ? static_cast<uint64_t>(more) : kLargestColumns);
  return wanted * Triples::kTriple + idle_ <= left ? wanted : rows * count;
}

}  // namespace tbq
