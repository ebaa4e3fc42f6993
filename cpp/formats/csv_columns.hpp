// The rows of a CSV file as columns of numbers. What a cell means depends on that cell alone, so a file gives
// the same columns in however many pieces it is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bytes/cursor.hpp"

namespace tbq {

enum class CsvCell : uint8_t {
  blank,   // empty, na, none or null
  whole,   // a whole number of 64 bits
  number,  // any other number
  text,
};

struct CsvNumber {
  CsvCell kind = CsvCell::blank;
  double value = 0;
  int64_t whole = 0;  // exact, unlike `value`
};

// The number in a cell, by the rule of `parsed` in text_rows.py. true and false are 1 and 0.
CsvNumber csv_number(std::string_view cell);

struct CsvColumn {
  std::vector<double> values;    // 0 for a cell without a number
  std::vector<uint8_t> present;  // 1 for a cell with a number
  std::vector<uint8_t> kinds;    // CsvCell; these two only if the column may hold the steps
  std::vector<int64_t> whole;
  uint64_t texts = 0;  // how many cells are texts
  std::string first_text;
};

class CsvReader {
 public:
  // A column for each name; `exact` are those that may hold the steps.
  CsvReader(size_t columns, const std::vector<size_t>& exact);

  // Reads complete rows, which end with a newline; returns how many bytes they have. A quoted cell may span
  // lines, up to 4 KiB. A longer one counts as not quoted: so a stray quote hides few rows.
  size_t read(Bytes data);

  std::vector<CsvColumn>& columns() { return columns_; }
  uint64_t bad_lines() const { return bad_lines_; }  // those with another number of cells

 private:
  static std::optional<std::string> quoted(std::string_view text, size_t& at);
  void add_row(const std::vector<std::string_view>& cells);

  std::vector<CsvColumn> columns_;
  std::vector<uint8_t> exact_;
  uint64_t bad_lines_ = 0;
};

}  // namespace tbq
