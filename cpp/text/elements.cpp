// Elements as text: an odometer that renders only the axes that moved, and one pass into a buffer of known
// bound.
#include "text/elements.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <type_traits>

#include "bytes/number_text.hpp"
#include "bytes/wire.hpp"

namespace tbq {
namespace {

constexpr size_t kStep = 32;           // text is copied in steps of so many bytes
constexpr uint64_t kTails = 1 << 13;   // of 16 bytes each: they stay in the CPU's second cache
constexpr size_t kLongestNumber = 20;  // digits of 2^64, and of -2^63 with its sign

char* put(char* at, std::string_view text) {
  if (text.empty()) return at;  // its data may be null
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

template <class T>
char* put_value(char* at, T value) {
  if constexpr (std::is_same_v<T, float>) {
    if (std::isfinite(value)) [[likely]]
      return write_float32(at, value);
  } else if constexpr (std::is_same_v<T, double>) {
    if (std::isfinite(value)) [[likely]]
      return write_float64(at, value, false);
  } else {
    return std::to_chars(at, at + kNumberChars, value).ptr;
  }
  if (std::isnan(value)) return put(at, "nan");
  return put(at, value < 0 ? "-inf" : "inf");
}

void put_zigzag(std::vector<uint8_t>& out, int64_t value) {
  append_varint(out, (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
}

// Parquet's DELTA_BINARY_PACKED: blocks of 128 differences in 4 groups, each group with its own width in
// bits.
void put_deltas(std::vector<uint8_t>& out, std::span<const int32_t> values) {
  constexpr size_t kBlock = 128;
  constexpr size_t kGroup = 32;
  append_varint(out, kBlock);
  append_varint(out, kBlock / kGroup);
  append_varint(out, values.size());
  put_zigzag(out, values.empty() ? 0 : values[0]);
  for (size_t from = 1; from < values.size(); from += kBlock) {
    const size_t count = std::min(kBlock, values.size() - from);
    int32_t deltas[kBlock];
    int32_t least = std::numeric_limits<int32_t>::max();
    for (size_t i = 0; i < count; ++i) {
      deltas[i] = values[from + i] - values[from + i - 1];
      least = std::min(least, deltas[i]);
    }
    std::fill(deltas + count, deltas + kBlock, least);
    put_zigzag(out, least);
    const size_t widths = out.size();
    out.resize(widths + kBlock / kGroup, 0);
    for (size_t group = 0; group * kGroup < count; ++group) {
      uint32_t all = 0;
      for (size_t i = 0; i < kGroup; ++i) all |= static_cast<uint32_t>(deltas[group * kGroup + i] - least);
      const auto width = static_cast<uint32_t>(std::bit_width(all));
      out[widths + group] = static_cast<uint8_t>(width);
      uint64_t bits = 0;
      uint32_t held = 0;
      for (size_t i = 0; i < kGroup; ++i) {
        bits |= static_cast<uint64_t>(static_cast<uint32_t>(deltas[group * kGroup + i] - least)) << held;
        for (held += width; held >= 8; held -= 8, bits >>= 8) out.push_back(static_cast<uint8_t>(bits));
      }
    }
  }
}

}  // namespace

IndexText::IndexText(std::span<const uint64_t> shape, uint64_t start)
    : shape_(shape.begin(), shape.end()),
      index_(shape.size()),
      begin_(shape.size()),
      text_(longest(shape) + kLongestNumber) {
  for (size_t axis = shape_.size(); axis-- > 0;) {
    index_[axis] = start % shape_[axis];
    start /= shape_[axis];
  }
  if (!shape_.empty()) render(0);
}

size_t IndexText::longest(std::span<const uint64_t> shape) {
  size_t total = 0;
  for (uint64_t size : shape) {
    for (++total; size >= 10; size /= 10) ++total;
    ++total;  // the comma
  }
  return total;
}

size_t IndexText::render(size_t axis) {
  const size_t kept = begin_[axis];
  size_t at = kept;
  for (;; ++axis) {
    begin_[axis] = at;
    char* const from = text_.data();
    at = static_cast<size_t>(std::to_chars(from + at, from + text_.size(), index_[axis]).ptr - from);
    if (axis + 1 == shape_.size()) break;
    text_[at++] = ',';
  }
  size_ = at;
  return kept;
}

size_t IndexText::next() {
  for (size_t axis = shape_.size(); axis-- > 0;) {
    if (++index_[axis] < shape_[axis]) {
      // Most steps only change the last digit of the last axis.
      if (axis + 1 == shape_.size() && text_[size_ - 1] != '9') {
        ++text_[size_ - 1];
        return size_ - 1;
      }
      return render(axis);
    }
    index_[axis] = 0;
  }
  return shape_.empty() ? 0 : render(0);
}

Text index_text(std::span<const uint64_t> shape, uint64_t start, size_t count, int32_t* offsets) {
  Text text{std::make_unique_for_overwrite<char[]>(IndexText::longest(shape) * count + 1), 0};
  offsets[0] = 0;
  if (count == 0) return text;
  IndexText index(shape, start);
  char* at = text.data.get();
  for (size_t i = 0; i < count; ++i) {
    at = put(at, index.text());
    offsets[i + 1] = static_cast<int32_t>(at - text.data.get());
    index.next();
  }
  text.size = static_cast<size_t>(at - text.data.get());
  return text;
}

std::vector<uint8_t> index_page(std::span<const Run> runs) {
  size_t rows = 0;
  size_t longest = 0;
  for (const Run& run : runs) {
    rows += run.count;
    longest = std::max(longest, IndexText::longest(run.shape));
  }
  std::vector<int32_t> kept;
  std::vector<int32_t> added;
  std::vector<uint8_t> text;
  kept.reserve(rows);
  added.reserve(rows);
  text.reserve(rows * 3 + longest);
  for (const Run& run : runs) {
    if (run.count == 0) continue;
    IndexText index(run.shape, run.start);
    size_t same = 0;
    for (uint64_t i = 0; i < run.count; ++i) {
      const std::string_view now = index.text();
      kept.push_back(static_cast<int32_t>(same));
      added.push_back(static_cast<int32_t>(now.size() - same));
      text.insert(text.end(), now.begin() + static_cast<std::ptrdiff_t>(same), now.end());
      same = index.next();
    }
  }
  std::vector<uint8_t> page;
  page.reserve(text.size() + rows + 64);
  put_deltas(page, kept);
  put_deltas(page, added);
  page.insert(page.end(), text.begin(), text.end());
  return page;
}

ElementLines::ElementLines(std::string_view prefix, std::span<const uint64_t> shape, char separator)
    : head_(prefix) {
  const bool quoted = shape.size() > 1 && separator == ',';
  if (quoted) head_ += '"';
  if (quoted) close_ += '"';
  close_ += separator;
  longest_ = head_.size() + IndexText::longest(shape) + kStep + kNumberChars + sizeof(Tail) + 1;

  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;  // no elements, no lines

  // The trailing axes whose indices are few and short enough to be kept as texts.
  size_t split = shape.size();
  for (uint64_t count = 1; split > 0; --split) {
    const uint64_t size = shape[split - 1];
    if (size > kTails / count || IndexText::longest(shape.subspan(split - 1)) + close_.size() > Tail::kText)
      break;
    count *= size;
  }
  const bool tailed = split < shape.size() || shape.empty();
  if (!tailed) --split;
  outer_.assign(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(split));
  const auto inner = shape.subspan(split);
  inner_ = std::accumulate(inner.begin(), inner.end(), uint64_t{1}, std::multiplies<>());
  if (!tailed) return;
  tails_.resize(static_cast<size_t>(inner_));
  IndexText index(inner, 0);
  for (Tail& tail : tails_) {
    tail.size = static_cast<uint8_t>(put(put(tail.text, index.text()), close_) - tail.text);
    index.next();
  }
}

template <class T>
char* ElementLines::write(char* to, uint64_t start, std::span<const T> values) const {
  if (values.empty()) return to;
  IndexText outer(outer_, start / inner_);
  std::vector<char> head(longest_);
  char* const index = put(head.data(), head_);
  auto last = static_cast<size_t>(start % inner_);
  const T* value = values.data();
  const T* const all = value + values.size();
  for (; value != all; last = 0, outer.next()) {
    char* head_end = put(index, outer.text());
    if (!outer_.empty()) *head_end++ = ',';
    const auto size = static_cast<size_t>(head_end - head.data());
    const T* const end = value + std::min<uint64_t>(static_cast<uint64_t>(all - value), inner_ - last);
    for (; value != end; ++value, ++last) {
      for (size_t i = 0; i < size; i += kStep) std::memcpy(to + i, head.data() + i, kStep);
      to += size;
      if (!tails_.empty()) {
        const Tail& tail = tails_[last];
        std::memcpy(to, &tail, sizeof tail);
        to += tail.size;
      } else {
        to = put(write_int64(to, static_cast<int64_t>(last)), close_);
      }
      to = put_value(to, *value);
      *to++ = '\n';
    }
  }
  return to;
}

template char* ElementLines::write(char*, uint64_t, std::span<const float>) const;
template char* ElementLines::write(char*, uint64_t, std::span<const double>) const;
template char* ElementLines::write(char*, uint64_t, std::span<const int64_t>) const;
template char* ElementLines::write(char*, uint64_t, std::span<const uint64_t>) const;

}  // namespace tbq
