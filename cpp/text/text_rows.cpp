// Writes cells one after the other into a buffer that has room for the longest of them.
#include "text/text_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "bytes/number_text.hpp"

namespace tbq {
namespace {

inline char* append(char* to, std::string_view text) {
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

inline char* append(char* to, const Mark& mark) {
  std::memcpy(to, mark.head, Mark::kInline);
  if (mark.text.size() > Mark::kInline) [[unlikely]] {
    std::memcpy(to, mark.text.data(), mark.text.size());
  }
  return to + mark.text.size();
}

inline bool bit(const uint8_t* bits, size_t i) { return (bits[i / 8] >> (i % 8) & 1) != 0; }

// The most bytes that quoting can turn one byte, or the empty string, into.
constexpr size_t kQuotedGrowth = 6;
constexpr size_t kQuotedExtra = 3;

char* quote_json(char* to, std::string_view text) {
  constexpr char hex[] = "0123456789abcdef";
  *to++ = '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      *to++ = '\\';
      *to++ = c;
    } else if (byte >= 0x20) {
      *to++ = c;
    } else if (c == '\n') {
      to = append(to, "\\n");
    } else if (c == '\r') {
      to = append(to, "\\r");
    } else if (c == '\t') {
      to = append(to, "\\t");
    } else {
      to = append(to, "\\u00");
      *to++ = hex[byte >> 4];
      *to++ = hex[byte & 15];
    }
  }
  *to++ = '"';
  return to;
}

// Whether a spreadsheet takes a cell with this beginning for a formula; some also accept the full-width = + -
// @.
bool is_formula(std::string_view text) {
  if (text.empty()) return false;
  if (std::string_view("=+-@\t\r\n").find(text[0]) != std::string_view::npos) return true;
  constexpr std::string_view kWide[] = {"\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0"};
  return std::any_of(std::begin(kWide), std::end(kWide), [&](auto sign) { return text.starts_with(sign); });
}

char* quote_csv(char* to, std::string_view text, const TextStyle& style) {
  const bool guard = style.spreadsheet && is_formula(text);
  const bool quoted = text.empty() || std::any_of(text.begin(), text.end(), [&](char c) {
                        return c == style.separator || c == '"' || c == '\n' || c == '\r';
                      });
  if (quoted) *to++ = '"';
  if (guard) *to++ = '\'';
  if (!quoted) return append(to, text);
  for (const char c : text) {
    if (c == '"') *to++ = '"';
    *to++ = c;
  }
  *to++ = '"';
  return to;
}

char* quote(char* to, std::string_view text, const TextStyle& style) {
  return style.quoting == Quoting::json ? quote_json(to, text) : quote_csv(to, text, style);
}

}  // namespace

void append_quoted(std::string& out, std::string_view text, const TextStyle& style) {
  const size_t size = out.size();
  out.resize(size + text.size() * kQuotedGrowth + kQuotedExtra);
  out.resize(static_cast<size_t>(quote(out.data() + size, text, style) - out.data()));
}

template <class Offset>
Labels::Labels(const TextStyle& style, const char* bytes, const Offset* offsets, size_t count) {
  ends_.reserve(count + 1);
  ends_.push_back(0);
  for (size_t i = 0; i < count; ++i) {
    const auto begin = static_cast<size_t>(offsets[i]);
    append_quoted(text_, {bytes + begin, static_cast<size_t>(offsets[i + 1]) - begin}, style);
    longest_ = std::max(longest_, text_.size() - ends_.back());
    ends_.push_back(text_.size());
  }
  text_.append(kSlack, ' ');
}
template Labels::Labels(const TextStyle&, const char*, const int32_t*, size_t);
template Labels::Labels(const TextStyle&, const char*, const int64_t*, size_t);

Mark::Mark(std::string_view from) : text(from) {
  std::memcpy(head, from.data(), std::min(from.size(), kInline));
}

TextRows::TextRows(TextStyle style) : style_(std::move(style)), row_end_(style_.row_end) {
  for (const std::string& text : style_.before) before_.emplace_back(text);
}

// Makes room for `wanted` more bytes at `to`. Returns `to`, which moves if the buffer grows.
char* TextRows::room(char* to, size_t wanted) {
  std::vector<char>& buffer = *buffer_;
  const auto used = static_cast<size_t>(to - buffer.data());
  if (buffer.size() - used < wanted) buffer.resize(std::max(buffer.size() * 2, used + wanted));
  return buffer.data() + used;
}

char* TextRows::write_float(char* to, double value, bool narrow, bool in_list) const {
  if (std::isfinite(value)) return write_float64(to, value, narrow);
  if (std::isnan(value)) return append(to, in_list ? style_.list_nan : style_.nan);
  if (value > 0) return append(to, in_list ? style_.list_inf : style_.inf);
  return append(to, in_list ? style_.list_minus_inf : style_.minus_inf);
}

char* TextRows::write_time(char* to, int64_t microseconds) const {
  const bool quoted = style_.quoting == Quoting::json;
  if (quoted) *to++ = '"';
  to = write_timestamp(to, microseconds);
  if (quoted) *to++ = '"';
  return to;
}

template <class Offset>
char* TextRows::write_text(char* to, const TextColumn& column, size_t row) {
  const auto* offsets = static_cast<const Offset*>(column.offsets) + column.first + row;
  const auto begin = static_cast<size_t>(offsets[0]);
  const auto size = static_cast<size_t>(offsets[1]) - begin;
  to = room(to, size * kQuotedGrowth + kQuotedExtra);
  const std::string_view text(static_cast<const char*>(column.values) + begin, size);
  return column.cell == Cell::raw ? append(to, text) : quote(to, text, style_);
}

template <class Offset>
char* TextRows::write_list(char* to, const TextColumn& column, size_t row) {
  const auto* offsets = static_cast<const Offset*>(column.offsets) + column.first + row;
  const auto begin = static_cast<size_t>(offsets[0]);
  const auto end = static_cast<size_t>(offsets[1]);
  to = room(to, (end - begin) * (kNumberChars + 1) + kNumberChars);
  const bool quoted = style_.quoting == Quoting::csv;
  if (quoted) *to++ = '"';
  *to++ = '[';
  for (size_t i = begin; i < end; ++i) {
    if (i != begin) *to++ = ',';
    if (column.cell == Cell::list_int64) {
      to = write_int64(to, static_cast<const int64_t*>(column.values)[i]);
    } else {
      to = write_float(to, static_cast<const double*>(column.values)[i], column.narrow, true);
    }
  }
  *to++ = ']';
  if (quoted) *to++ = '"';
  return to;
}

inline char* TextRows::write_cell(char* to, const TextColumn& column, size_t row) {
  const size_t at = column.first + row;
  if (column.valid != nullptr && !bit(column.valid, at)) return append(to, style_.null);
  switch (column.cell) {
    case Cell::float64:
      return write_float(to, static_cast<const double*>(column.values)[at], column.narrow, false);
    case Cell::int64:
      return write_int64(to, static_cast<const int64_t*>(column.values)[at]);
    case Cell::timestamp:
      return write_time(to, static_cast<const int64_t*>(column.values)[at]);
    case Cell::boolean:
      return append(to, bit(static_cast<const uint8_t*>(column.values), at) ? "true" : "false");
    case Cell::label: {
      const auto code = static_cast<uint32_t>(static_cast<const int32_t*>(column.values)[at]);
      if (code >= column.labels->count()) return append(to, style_.null);
      const std::string_view label = (*column.labels)[code];
      std::memcpy(to, label.data(), Labels::kSlack);
      if (label.size() > Labels::kSlack) std::memcpy(to, label.data(), label.size());
      return to + label.size();
    }
    case Cell::text:
    case Cell::raw:
      return column.large ? write_text<int64_t>(to, column, row) : write_text<int32_t>(to, column, row);
    case Cell::list_float64:
    case Cell::list_int64:
      return column.large ? write_list<int64_t>(to, column, row) : write_list<int32_t>(to, column, row);
  }
  return to;
}

size_t TextRows::write(std::span<const TextColumn> columns, size_t begin, size_t end, size_t block) {
  size_t fixed = style_.between.size() + style_.row_end.size() + Mark::kInline + kNumberChars;
  bool open = false;  // whether a cell's size is only known at its row
  for (size_t i = 0; i < columns.size(); ++i) {
    fixed += style_.before[i].size() + Mark::kInline + std::max(style_.null.size(), kNumberChars);
    if (columns[i].cell == Cell::label) fixed += columns[i].labels->longest() + Labels::kSlack;
    open = open || columns[i].cell >= Cell::text;
  }
  if (buffer_.use_count() > 1) {
    std::swap(buffer_, spare_);
    if (buffer_.use_count() > 1) buffer_ = std::make_shared<std::vector<char>>();
  }
  if (buffer_->size() < block + fixed) buffer_->resize(block + fixed);
  char* to = buffer_->data();
  size_t row = begin;
  bool between = !first_row_ && !style_.between.empty();
  for (; row < end && static_cast<size_t>(to - buffer_->data()) < block; ++row) {
    to = room(to, fixed);
    if (between) to = append(to, style_.between);
    between = !style_.between.empty();
    for (size_t i = 0; i < columns.size(); ++i) {
      to = append(to, before_[i]);
      to = write_cell(to, columns[i], row);
      if (open) to = room(to, fixed);
    }
    to = append(to, row_end_);
  }
  size_ = static_cast<size_t>(to - buffer_->data());
  first_row_ = first_row_ && row == begin;
  return row;
}

}  // namespace tbq
