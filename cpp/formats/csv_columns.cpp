// Most cells are numbers that JSON writes in the same way; the others are brought into that form.
#include "formats/csv_columns.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>

#include "formats/json_number.hpp"

namespace tbq {
namespace {

constexpr size_t kLongestQuoted = 4096;
constexpr size_t kLongestNumber = 500;
constexpr size_t kLongestShown = 200;
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kExactEnd = 9007199254740992.0;       // 2^53
constexpr double kEndOfWhole = 9223372036854775808.0;  // 2^63

bool is_decimal(char letter) { return letter >= '0' && letter <= '9'; }

size_t digits_of(std::string_view text) {
  return static_cast<size_t>(std::ranges::find_if_not(text, is_decimal) - text.begin());
}

std::string_view stripped(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\r\v\f";
  const size_t from = text.find_first_not_of(kSpace);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kSpace) - from + 1);
}

bool is_word(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower,
                            [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

CsvNumber csv_real(double value) {
  if (value == std::floor(value) && value >= -kEndOfWhole && value < kEndOfWhole)
    return {CsvCell::whole, value, static_cast<int64_t>(value)};
  return {CsvCell::number, value, 0};
}

CsvNumber csv_json(std::string_view text) {
  const JsonNumber number = json_number(text);
  if (number.what == JsonValue::real) {
    // Whole digits that are no integer are beyond 64 bits, though the double nearest to them may not be.
    const bool beyond =
        std::abs(number.real) >= kEndOfWhole && text.find_first_of(".eE") == std::string_view::npos;
    return beyond ? CsvNumber{CsvCell::number, number.real, 0} : csv_real(number.real);
  }
  if (number.what == JsonValue::integer)
    return {CsvCell::whole, static_cast<double>(number.integer), number.integer};
  return {CsvCell::text, 0, 0};
}

CsvNumber csv_word(std::string_view text, bool negative) {
  if (is_word(text, "nan")) return {CsvCell::number, std::numeric_limits<double>::quiet_NaN(), 0};
  if (is_word(text, "inf") || is_word(text, "infinity")) return csv_real(negative ? -kInfinite : kInfinite);
  return {CsvCell::text, 0, 0};
}

// A number after its sign: digits, a point and an exponent, of which JSON wants more than CSV does.
CsvNumber csv_any(std::string_view text, bool negative) {
  if (text.empty()) return {CsvCell::text, 0, 0};
  if (!is_decimal(text.front()) && text.front() != '.') return csv_word(text, negative);
  const std::string_view whole = text.substr(0, digits_of(text));
  std::string_view rest = text.substr(whole.size());
  std::string_view fraction;
  if (!rest.empty() && rest.front() == '.') {
    fraction = rest.substr(1, digits_of(rest.substr(1)));
    rest.remove_prefix(1 + fraction.size());
  }
  if (whole.empty() && fraction.empty()) return {CsvCell::text, 0, 0};
  std::string number(negative ? "-" : "");
  number.append(whole.empty() ? "0" : whole);
  if (rest.empty() && !whole.empty() && fraction.find_first_not_of('0') == std::string_view::npos) {
    const CsvNumber found = csv_json(number);
    return found.kind == CsvCell::text ? csv_real(negative ? -kInfinite : kInfinite) : found;
  }
  number.append(".").append(fraction.empty() ? "0" : fraction).append(rest);
  return csv_json(number);
}

}  // namespace

CsvNumber csv_number(std::string_view cell) {
  cell = stripped(cell);
  if (cell.empty()) return {};
  if (cell.size() > kLongestNumber) return {CsvCell::text, 0, 0};
  const bool negative = cell.front() == '-';
  if (is_decimal(negative && cell.size() > 1 ? cell[1] : cell.front())) {
    const CsvNumber found = csv_json(cell);
    // 9007199254740993.0 is a whole number that a double does not hold.
    const bool exact = std::abs(found.value) < kExactEnd || cell.find('.') == std::string_view::npos;
    if (found.kind != CsvCell::text && exact) return found;
  } else {
    for (const std::string_view blank : {"na", "none", "null"})
      if (is_word(cell, blank)) return {};
    if (is_word(cell, "true")) return csv_real(1);
    if (is_word(cell, "false")) return csv_real(0);
  }
  return csv_any(negative || cell.front() == '+' ? cell.substr(1) : cell, negative);
}

CsvReader::CsvReader(size_t columns, const std::vector<size_t>& exact) : columns_(columns), exact_(columns) {
  for (const size_t column : exact)
    if (column < columns) exact_[column] = 1;
}

void CsvReader::add_row(const std::vector<std::string_view>& cells) {
  if (cells.size() != columns_.size()) {
    ++bad_lines_;
    return;
  }
  for (size_t i = 0; i < cells.size(); ++i) {
    CsvColumn& column = columns_[i];
    const CsvNumber number = csv_number(cells[i]);
    const bool present = number.kind == CsvCell::whole || number.kind == CsvCell::number;
    column.values.push_back(present ? number.value : 0);
    column.present.push_back(present ? 1 : 0);
    if (exact_[i] != 0) {
      column.kinds.push_back(static_cast<uint8_t>(number.kind));
      column.whole.push_back(number.whole);
    }
    if (number.kind == CsvCell::text && column.texts++ == 0)
      column.first_text = cells[i].substr(0, kLongestShown);
  }
}

// Returns the text of the quoted cell that begins at `at`, without its quotes. Returns nothing if the cell is
// not quoted, or if more text is needed to tell; in that case it moves `at` beyond the text.
std::optional<std::string> CsvReader::quoted(std::string_view text, size_t& at) {
  std::string content;
  size_t from = at + 1;
  const size_t limit = std::min(text.size(), from + kLongestQuoted);
  while (from < limit) {
    const size_t quote = std::min(text.find('"', from), text.size());
    if (quote >= limit) break;
    content += text.substr(from, quote - from);
    from = quote + 1;
    if (from == text.size()) break;  // perhaps one of two quotes
    if (text[from] != '"') {
      at = from;
      return content;
    }
    content += '"';
    ++from;
  }
  if (limit == text.size() || from == text.size()) at = std::string_view::npos;
  return std::nullopt;
}

size_t CsvReader::read(Bytes data) {
  const std::string_view text = as_text(data);
  std::vector<std::string_view> cells;
  std::deque<std::string> contents;  // of quoted cells
  size_t used = 0;
  for (size_t at = 0; at < text.size();) {
    cells.clear();
    contents.clear();
    for (bool more = true; more;) {
      std::optional<std::string> content;
      if (at < text.size() && text[at] == '"') content = quoted(text, at);
      const size_t begin = at;
      while (at < text.size() && text[at] != ',' && text[at] != '\n') ++at;
      if (at >= text.size()) return used;
      more = text[at] == ',';
      std::string_view cell = text.substr(begin, at - begin);
      if (!more && cell.ends_with('\r')) cell.remove_suffix(1);
      cells.push_back(content ? contents.emplace_back(std::move(*content)).append(cell) : cell);
      ++at;
    }
    if (cells.size() > 1 || !stripped(cells.front()).empty()) add_row(cells);
    used = at;
  }
  return used;
}

}  // namespace tbq
