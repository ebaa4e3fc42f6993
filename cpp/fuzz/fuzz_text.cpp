// Writes any numbers and strings as CSV and JSON text, which must read back to the same values.
#include <bit>
#include <cmath>
#include <cstdlib>

#include "bytes/number_text.hpp"
#include "fuzz/fuzz.hpp"
#include "text/text_rows.hpp"

namespace {

const bool added = [] {
  using namespace bytes;
  for (const double value :
       {0.0, -0.0, 0.1, 0.5, 1.0, 1e16, 1e-7, 1.7e9 + 0.125, 5e-324, 1.7976931348623157e308,
        static_cast<double>(0.1F), 16777217.0, 9007199254740993.0}) {
    seeds().push_back(std::string(1, '\0') + of(value) + of(value) + "text");
    seeds().push_back(std::string(1, '\1') + of(value) + of(value) + "=1+2,\"quoted\"\r\n\t\x01");
    seeds().push_back(std::string(1, '\4') + of(value) + of(value) + "＝1");
  }
  return true;
}();

void check_number(double value) {
  if (!std::isfinite(value)) return;
  char text[tbq::kNumberChars + 1];
  for (const bool narrow : {false, true}) {
    char* end = tbq::write_float64(text, value, narrow);
    REQUIRE(end - text < static_cast<ptrdiff_t>(tbq::kNumberChars));
    *end = 0;
    char* stopped = nullptr;
    const double read = std::strtod(text, &stopped);
    REQUIRE(stopped == end);
    const auto single = static_cast<float>(value);
    if (narrow && static_cast<double>(single) == value) {
      REQUIRE(std::strtof(text, nullptr) == single);
    } else {
      REQUIRE(read == value && std::signbit(read) == std::signbit(value));
    }
  }
  const auto integer = std::bit_cast<int64_t>(value);
  *tbq::write_int64(text, integer) = 0;
  REQUIRE(std::strtoll(text, nullptr, 10) == integer);
  REQUIRE(tbq::write_timestamp(text, integer) - text == 27);
}

std::string unquoted_json(std::string_view text) {
  REQUIRE(text.size() >= 2 && text.front() == '"' && text.back() == '"');
  std::string out;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    REQUIRE(text[i] != '"' && static_cast<unsigned char>(text[i]) >= 0x20);
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const char code = text[++i];
    if (code == 'u') {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 4)), nullptr, 16));
      i += 4;
    } else {
      REQUIRE(code == 'n' || code == 'r' || code == 't' || code == '"' || code == '\\');
      out += code == 'n' ? '\n' : code == 'r' ? '\r' : code == 't' ? '\t' : code;
    }
  }
  return out;
}

std::string unquoted_csv(std::string_view text, char separator) {
  if (text.empty() || text.front() != '"') {
    REQUIRE(text.find_first_of(std::string("\"\r\n") + separator) == std::string_view::npos);
    return std::string(text);
  }
  REQUIRE(text.size() >= 2 && text.back() == '"');
  std::string out;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '"') {
      REQUIRE(text[i + 1] == '"' && i + 2 < text.size());
      ++i;
    }
    out += text[i];
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const uint8_t flags = input.byte();
  tbq::TextStyle style;
  style.quoting = (flags & 1) != 0 ? tbq::Quoting::json : tbq::Quoting::csv;
  style.separator = (flags & 2) != 0 ? '\t' : ',';
  style.spreadsheet = (flags & 4) != 0;
  style.null = (flags & 1) != 0 ? "null" : "";
  style.row_end = "\n";
  style.nan = style.list_nan = "nan";
  style.inf = style.list_inf = "inf";
  style.minus_inf = style.list_minus_inf = "-inf";
  style.before = {"", std::string(flags >> 3, ','), ",", ",", ","};
  const double values[2] = {input.number<double>(), input.number<double>()};
  check_number(values[0]);
  check_number(values[1]);
  const std::string text = input.text(2000);
  const std::string second = text.substr(text.size() / 2);
  std::string quoted;
  tbq::append_quoted(quoted, text, style);
  std::string want = text;
  if (style.quoting == tbq::Quoting::json) {
    REQUIRE(unquoted_json(quoted) == want);
  } else {
    bool guarded = false;
    for (const char* sign : {"=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"}) {
      guarded = guarded || (style.spreadsheet && text.starts_with(sign));
    }
    if (guarded) want = "'" + want;
    REQUIRE(unquoted_csv(quoted, style.separator) == want);
  }
  // Two rows of every type of cell, in buffers of exact size.
  const std::vector<int64_t> integers = {std::bit_cast<int64_t>(values[0]), -1};
  const std::string both = text + second;
  const std::vector<int32_t> offsets = {0, static_cast<int32_t>(text.size()),
                                        static_cast<int32_t>(both.size())};
  const std::vector<int64_t> wide(offsets.begin(), offsets.end());
  const std::vector<int32_t> list = {0, 1, 2};
  const std::vector<int32_t> codes = {1, 0};
  const std::vector<uint8_t> valid = {static_cast<uint8_t>(flags >> 5)};
  const std::vector<char> bytes(both.begin(), both.end());
  const tbq::Labels labels(style, bytes.data(), offsets.data(), 2);
  std::vector<tbq::TextColumn> columns(5);
  columns[0] = {tbq::Cell::float64, true, false, 0, valid.data(), values, nullptr, nullptr};
  columns[1] = {(flags & 8) != 0 ? tbq::Cell::int64 : tbq::Cell::timestamp,
                false,
                false,
                0,
                nullptr,
                integers.data(),
                nullptr,
                nullptr};
  columns[2] = {tbq::Cell::label, false, false, 0, nullptr, codes.data(), nullptr, &labels};
  columns[3] = {tbq::Cell::text, false, true, 0, nullptr, bytes.data(), wide.data(), nullptr};
  columns[4] = {tbq::Cell::list_float64, false, false, 0, nullptr, values, list.data(), nullptr};
  tbq::TextRows rows(style);
  std::string all;
  for (size_t row = 0; row < 2;) {
    const size_t next = rows.write(columns, row, 2, 1);
    REQUIRE(next > row && next <= 2);
    all += rows.text();
    row = next;
  }
  tbq::TextRows at_once(style);
  REQUIRE(at_once.write(columns, 0, 2, 1 << 15) == 2 && at_once.text() == all);
  return 0;
}
