// Tests numbers as text, and rows as CSV and JSON.
#include "text/text_rows.hpp"

#include <charconv>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>

#include "bytes/number_text.hpp"
#include "tests/check.hpp"

namespace {

std::string text_of(double value, bool narrow) {
  std::vector<char> exact(tbq::kNumberChars);  // on the heap, so that the sanitizer sees a byte past the end
  return {exact.data(), tbq::write_float64(exact.data(), value, narrow)};
}

double read_back(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string digits_of(const std::string& text) {
  std::string digits;
  for (const char c : text) {
    if (c == 'e') break;
    if (c >= '0' && c <= '9' && !(digits.empty() && c == '0')) digits += c;
  }
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  return digits;
}

}  // namespace

TEST(float64_known_texts) {
  CHECK(text_of(0.1, false) == "0.1");
  CHECK(text_of(0.10000000149011612, false) == "0.10000000149011612");
  CHECK(text_of(0.10000000149011612, true) == "0.1");
  CHECK(text_of(-0.0, true) == "-0.0");
  CHECK(text_of(123456792.0, true) == "123456792.0");
  CHECK(text_of(1e-5, false) == "1e-05");
  CHECK(text_of(0.0001, false) == "0.0001");
  CHECK(text_of(1e16, false) == "1e+16");
  CHECK(text_of(9007199254740993.0, false) == "9007199254740992.0");
  CHECK(text_of(std::numeric_limits<double>::max(), true) == "1.7976931348623157e+308");
  CHECK(text_of(std::numeric_limits<double>::denorm_min(), true) == "5e-324");
  CHECK(text_of(static_cast<double>(std::numeric_limits<float>::denorm_min()), true) == "1e-45");
}

TEST(float_digits_are_those_of_the_standard_library) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 200000; ++i) {
    uint64_t bits = random();
    if (i % 4 == 0) bits &= ~((uint64_t{1} << (random() % 53)) - 1);
    const auto value = std::bit_cast<double>(bits);
    if (value - value == 0) {
      const std::string text = text_of(value, false);
      CHECK(read_back(text) == value);
      char want[64];
      *std::to_chars(want, want + 63, value, std::chars_format::scientific).ptr = 0;
      CHECK(digits_of(text) == digits_of(want));
    }
    const auto single = std::bit_cast<float>(static_cast<uint32_t>(bits >> 32));
    if (single - single == 0) {
      const std::string text = text_of(static_cast<double>(single), true);
      CHECK(static_cast<float>(read_back(text)) == single);
      if (static_cast<double>(single) != static_cast<double>(static_cast<int64_t>(single))) {
        char want[64];
        *std::to_chars(want, want + 63, single, std::chars_format::scientific).ptr = 0;
        CHECK(std::abs(single) >= 9e15F || digits_of(text) == digits_of(want));
      }
    }
  }
}

// Numbers of middling size have their own code. It must agree with the standard library at every exponent
// that it handles and just beyond, for fractions at both ends, for short fractions, and for random ones.
TEST(float32_texts_are_those_of_the_standard_library) {
  std::mt19937 random(13);
  const auto check = [](uint32_t bits) {
    const auto value = std::bit_cast<float>(bits);
    std::vector<char> exact(tbq::kNumberChars);
    const std::string text(exact.data(), tbq::write_float32(exact.data(), value));
    CHECK(text == text_of(static_cast<double>(value), true));
    char want[64];
    std::string fixed(want, std::to_chars(want, want + 64, value, std::chars_format::fixed).ptr);
    if (fixed.find('.') == std::string::npos) fixed += ".0";
    CHECK(text == fixed);
  };
  for (uint32_t exponent = 127 - 13; exponent < 127 + 15; ++exponent) {
    for (uint32_t sign = 0; sign < 2; ++sign) {
      const uint32_t top = sign << 31 | exponent << 23;
      for (uint32_t i = 0; i < 300; ++i) {
        check(top | i);
        check(top | (0x7fffff - i));
        check(top | (i & 0xff) << 15);
      }
      for (int i = 0; i < 3000; ++i) check(top | (random() & 0x7fffff));
    }
  }
  for (int i = 1; i < 20000; ++i) {
    check(std::bit_cast<uint32_t>(static_cast<float>(i) / 10000));
    check(std::bit_cast<uint32_t>(static_cast<float>(i) / 64));
  }
}

TEST(float32_texts_at_the_ends) {
  const auto text = [](float value) {
    std::vector<char> exact(tbq::kNumberChars);
    return std::string(exact.data(), tbq::write_float32(exact.data(), value));
  };
  CHECK(text(0.0F) == "0.0");
  CHECK(text(-0.0F) == "-0.0");
  CHECK(text(1.0F) == "1.0");
  CHECK(text(-0.5F) == "-0.5");
  CHECK(text(3.0F) == "3.0");
  CHECK(text(-8191.0F) == "-8191.0");
  CHECK(text(8191.9995F) == "8191.9995");
  CHECK(text(1234.5F) == "1234.5");
  CHECK(text(0.99999994F) == "0.99999994");
  CHECK(text(0.0001F) == "0.0001");
  CHECK(text(0.00012207031F) == "0.00012207031");
  CHECK(text(9.999999e-05F) == "9.999999e-05");
  CHECK(text(std::numeric_limits<float>::denorm_min()) == "1e-45");
  CHECK(text(std::numeric_limits<float>::min()) == "1.1754944e-38");
  CHECK(text(-std::numeric_limits<float>::max()) == "-3.4028235e+38");
}

TEST(int64_and_timestamps) {
  const auto int_text = [](int64_t value) {
    char text[tbq::kNumberChars];
    return std::string(text, tbq::write_int64(text, value));
  };
  CHECK(int_text(0) == "0");
  CHECK(int_text(-1) == "-1");
  CHECK(int_text(10000000000) == "10000000000");
  CHECK(int_text(std::numeric_limits<int64_t>::max()) == "9223372036854775807");
  CHECK(int_text(std::numeric_limits<int64_t>::min()) == "-9223372036854775808");
  const auto time_text = [](int64_t value) {
    char text[tbq::kNumberChars];
    return std::string(text, tbq::write_timestamp(text, value));
  };
  CHECK(time_text(0) == "1970-01-01T00:00:00.000000Z");
  CHECK(time_text(-1) == "1969-12-31T23:59:59.999999Z");
  CHECK(time_text(951782400000000) == "2000-02-29T00:00:00.000000Z");
  CHECK(time_text(std::numeric_limits<int64_t>::min()) == "0000-01-01T00:00:00.000000Z");
  CHECK(time_text(std::numeric_limits<int64_t>::max()) == "9999-12-31T23:59:59.999999Z");
}

TEST(rows_grow_past_the_block_and_quote) {
  tbq::TextStyle style;
  style.row_end = "\n";
  style.nan = "nan";
  style.before = {"", ","};
  tbq::TextRows rows(style);
  const std::string bytes = std::string(5000, '"') + "a,b";
  const std::vector<int32_t> offsets = {0, 5000, 5003, 5003};
  const std::vector<double> numbers = {0.5, std::numeric_limits<double>::quiet_NaN(), 2};
  const uint8_t valid = 0b011;
  tbq::TextColumn text;
  text.cell = tbq::Cell::text;
  text.values = bytes.data();
  text.offsets = offsets.data();
  tbq::TextColumn number;
  number.cell = tbq::Cell::float64;
  number.values = numbers.data();
  number.valid = &valid;
  const std::vector<tbq::TextColumn> columns = {text, number};
  CHECK(rows.write(columns, 0, 3, 16) == 1);  // the block is full after the first row
  CHECK(rows.text() == '"' + std::string(10000, '"') + "\",0.5\n");
  CHECK(rows.write(columns, 1, 3, 1000) == 3);
  CHECK(rows.text() == "\"a,b\",nan\n\"\",\n");
}

TEST(labels_of_every_length_are_copied_completely) {
  tbq::TextStyle style;
  style.before = {""};
  style.row_end = ";";
  const tbq::TextRows quoting(style);
  for (size_t size = 0; size < 100; ++size) {
    const std::string name(size, 'x');
    const std::vector<int64_t> offsets = {0, static_cast<int64_t>(size)};
    const tbq::Labels labels(quoting.style(), name.data(), offsets.data(), 1);
    const std::vector<int32_t> codes = {0, 0, 7};  // 7 is not a label: printed as absent, never read
    tbq::TextColumn column;
    column.cell = tbq::Cell::label;
    column.values = codes.data();
    column.labels = &labels;
    tbq::TextRows rows(style);
    CHECK(rows.write({&column, 1}, 0, 3, 1 << 16) == 3);
    const std::string cell = size == 0 ? "\"\"" : name;
    CHECK(rows.text() == cell + ";" + cell + ";;");
  }
}

TEST(held_text_is_not_overwritten) {
  tbq::TextStyle style;
  style.row_end = "\n";
  style.before = {""};
  tbq::TextRows rows(style);
  std::vector<int64_t> numbers(100);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
  const tbq::TextColumn column{tbq::Cell::int64, false, false, 0, nullptr, numbers.data(), nullptr, nullptr};
  std::vector<std::pair<std::shared_ptr<const void>, std::string_view>> held;
  for (size_t row = 0; row < numbers.size();) {
    row = rows.write({&column, 1}, row, numbers.size(), 10);
    held.emplace_back(rows.held(), rows.text());
  }
  std::string all;
  for (const auto& [owner, text] : held) all += text;
  std::string want;
  for (const int64_t number : numbers) want += std::to_string(number) + "\n";
  CHECK(held.size() > 10 && all == want);
  // Once released, two buffers take turns.
  held.clear();
  rows.write({&column, 1}, 0, 100, 10);
  const char* first = rows.text().data();
  auto keep = rows.held();
  rows.write({&column, 1}, 0, 100, 10);
  const char* second = rows.text().data();
  keep = rows.held();
  rows.write({&column, 1}, 0, 100, 10);
  CHECK(first != second && rows.text().data() == first);
}
