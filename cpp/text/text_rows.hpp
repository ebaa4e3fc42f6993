// Writes rows of Arrow columns as CSV or JSON text: numbers in their shortest form, strings quoted as the
// format requires.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tbq {

enum class Quoting : uint8_t { csv, json };

struct TextStyle {
  Quoting quoting = Quoting::csv;
  char separator = ',';      // CSV only: a string that contains it is quoted
  bool spreadsheet = false;  // CSV only: puts a ' before a string that a spreadsheet would run as a formula
  std::string between;       // written before each row except the first
  std::string row_end;
  std::string null;  // an absent value
  std::string nan, inf, minus_inf;
  std::string list_nan, list_inf, list_minus_inf;  // the same inside a list, which is JSON even in CSV
  std::vector<std::string> before;                 // text before each column's cell
};

// The strings of a dictionary, quoted once.
class Labels {
 public:
  template <class Offset>
  Labels(const TextStyle& style, const char* bytes, const Offset* offsets, size_t count);

  size_t count() const { return ends_.size() - 1; }
  size_t longest() const { return longest_; }
  std::string_view operator[](size_t i) const { return {text_.data() + ends_[i], ends_[i + 1] - ends_[i]}; }
  // Readable bytes after the end of any label, so that whole words can be copied.
  static constexpr size_t kSlack = 32;

 private:
  std::string text_;
  std::vector<size_t> ends_;
  size_t longest_ = 0;
};

// `timestamp` is microseconds since 1970 in UTC. `raw` is a string column that is printed unchanged: finished
// JSON, or a decimal number.
enum class Cell : uint8_t { float64, int64, boolean, timestamp, label, text, raw, list_float64, list_int64 };

// One column in Arrow's layout. `first` is the index of row 0 in all of its buffers.
struct TextColumn {
  Cell cell = Cell::int64;
  bool narrow = false;  // float64: print a value that is exactly a float32 as a float32
  bool large = false;   // text and lists: offsets are 64-bit
  size_t first = 0;
  const uint8_t* valid = nullptr;  // one bit per row, or absent
  const void* values = nullptr;    // numbers, bits, dictionary indices (int32), or the bytes of all strings
  const void* offsets = nullptr;   // text and lists
  const Labels* labels = nullptr;  // label
};

// A short fixed text; copied in one move if it fits.
struct Mark {
  static constexpr size_t kInline = 16;
  explicit Mark(std::string_view from);

  char head[kInline] = {};
  std::string text;
};

class TextRows {
 public:
  explicit TextRows(TextStyle style);
  const TextStyle& style() const { return style_; }

  // Writes rows from [begin, end) until the text has about `block` bytes; returns the first row not written.
  // The text is in `text()` until the next call, or as long as the caller keeps held().
  size_t write(std::span<const TextColumn> columns, size_t begin, size_t end, size_t block);
  std::string_view text() const { return {buffer_->data(), size_}; }
  std::shared_ptr<const void> held() const { return buffer_; }

 private:
  char* room(char* to, size_t wanted);
  char* write_cell(char* to, const TextColumn& column, size_t row);
  char* write_float(char* to, double value, bool narrow, bool in_list) const;
  char* write_time(char* to, int64_t microseconds) const;
  template <class Offset>
  char* write_text(char* to, const TextColumn& column, size_t row);
  template <class Offset>
  char* write_list(char* to, const TextColumn& column, size_t row);

  TextStyle style_;
  Mark row_end_;
  std::vector<Mark> before_;
  // A buffer that a caller still holds is not written to. Two buffers are enough for a reader that is one
  // block late.
  std::shared_ptr<std::vector<char>> buffer_ = std::make_shared<std::vector<char>>();
  std::shared_ptr<std::vector<char>> spare_ = std::make_shared<std::vector<char>>();
  size_t size_ = 0;
  bool first_row_ = true;
};

// Quotes the string as the style requires and appends it to `out`.
void append_quoted(std::string& out, std::string_view text, const TextStyle& style);

}  // namespace tbq
