#include "text/elements.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "tests/check.hpp"

using tbq::IndexText;

namespace {

std::string joined(const std::vector<uint64_t>& shape, uint64_t start, size_t count) {
  std::string all;
  IndexText index(shape, start);
  for (size_t i = 0; i < count; ++i) {
    all += index.text();
    all += ' ';
    index.next();
  }
  return all;
}

template <class T>
std::string lines(const std::vector<uint64_t>& shape, const std::vector<T>& values, char separator = ',',
                  uint64_t start = 0, const std::string& prefix = "p,") {
  const tbq::ElementLines all(prefix, shape, separator);
  std::vector<char> room(all.longest() * values.size());
  const char* end = all.write(room.data(), start, std::span<const T>(values));
  return {room.data(), static_cast<size_t>(end - room.data())};
}

}  // namespace

TEST(index_text_counts_in_c_order_and_through_digits) {
  CHECK(joined({2, 2}, 0, 4) == "0,0 0,1 1,0 1,1 ");
  CHECK(joined({3, 11}, 8, 5) == "0,8 0,9 0,10 1,0 1,1 ");
  CHECK(joined({101}, 98, 3) == "98 99 100 ");
  CHECK(joined({1, 1, 1}, 0, 1) == "0,0,0 ");
  CHECK(joined({}, 0, 1) == " ");
  // Past the last element it starts again: no caller reads that, but it must stay in its buffer.
  CHECK(joined({2, 10}, 19, 2) == "1,9 0,0 ");
}

TEST(index_text_says_how_much_stayed) {
  IndexText index(std::vector<uint64_t>{2, 10, 2}, 17);
  CHECK(index.text() == "0,8,1");
  CHECK(index.next() == 2);
  CHECK(index.text() == "0,9,0");
  CHECK(index.next() == 4);
  CHECK(index.text() == "0,9,1");
  CHECK(index.next() == 0);
  CHECK(index.text() == "1,0,0");
}

TEST(index_text_of_the_largest_shape_fits) {
  const std::vector<uint64_t> shape{std::numeric_limits<uint64_t>::max()};
  IndexText index(shape, std::numeric_limits<uint64_t>::max() - 1);
  CHECK(index.text() == "18446744073709551614");
  CHECK(index.text().size() <= IndexText::longest(shape));
  index.next();
  CHECK(index.text() == "0");
}

TEST(element_lines_quote_and_print) {
  CHECK(lines<float>({2, 1}, {0.1F, -0.0F}) == "p,\"0,0\",0.1\np,\"1,0\",-0.0\n");
  CHECK(lines<float>({2}, {1e-5F, 3e38F}, '\t') == "p,0\t1e-05\np,1\t3e+38\n");
  CHECK(lines<double>({2}, {static_cast<double>(0.1F), 0.1}) == "p,0,0.10000000149011612\np,1,0.1\n");
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(lines<double>({3}, {std::nan(""), inf, -inf}) == "p,0,nan\np,1,inf\np,2,-inf\n");
  CHECK(lines<int64_t>({1}, {std::numeric_limits<int64_t>::min()}) == "p,0,-9223372036854775808\n");
  CHECK(lines<uint64_t>({1}, {std::numeric_limits<uint64_t>::max()}) == "p,0,18446744073709551615\n");
  CHECK(lines<float>({}, {1.5F}) == "p,,1.5\n");
  CHECK(lines<float>({0}, {}).empty());
}

TEST(element_lines_start_anywhere_and_cross_rows) {
  CHECK(lines<int64_t>({2, 12}, {1, 2, 3}, ',', 10) == "p,\"0,10\",1\np,\"0,11\",2\np,\"1,0\",3\n");
  CHECK(lines<int64_t>({2, 1, 2}, {1, 2}, '\t', 1) == "p,0,0,1\t1\np,1,0,0\t2\n");
}

TEST(element_lines_of_a_long_prefix) {
  const std::string prefix(1000, 'x');
  CHECK(lines<float>({2}, {0.5F, 0.25F}, ',', 0, prefix + ",") == prefix + ",0,0.5\n" + prefix + ",1,0.25\n");
}

// Trailing axes are kept as texts where those are few and short; each of these shapes is cut differently.
TEST(element_lines_are_the_same_however_the_index_is_cut) {
  const std::vector<std::vector<uint64_t>> shapes{
      {3, 8192},                                   // the last axis whole
      {3, 8193},                                   // too long
      {2, 3, 4, 5},                                // all of them
      {100, 90, 3, 3},                             // all but the first
      {7, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3},        // few, but too long to be kept
      {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 9000},  // neither
      {11},
      {20000}};
  for (const auto& shape : shapes) {
    uint64_t total = 1;
    for (const uint64_t size : shape) total *= size;
    for (const char separator : {',', '\t'}) {
      const std::vector<int64_t> values(static_cast<size_t>(total), 5);
      const std::string quote = separator == ',' && shape.size() > 1 ? "\"" : "";
      std::string want;
      IndexText index(shape, 0);
      for (uint64_t i = 0; i < total; ++i, index.next()) {
        want += "p," + quote + std::string(index.text()) + quote + separator + "5\n";
      }
      CHECK(lines<int64_t>(shape, values, separator) == want);
    }
  }
}

TEST(element_lines_of_an_empty_array_are_none) {
  CHECK(lines<float>({3, 0, 2}, {}).empty());
  CHECK(lines<float>({0, 9000}, {}).empty());
  CHECK(lines<float>({1, 0}, {}, '\t').empty());
}

TEST(index_page_packs_what_parquet_says) {
  // Three indices 8, 9, 10: kept 0 0 0, added 1 1 2, text "8910".
  const std::vector<tbq::Run> runs{{{11}, 8, 3}};
  const std::vector<uint8_t> want{128, 1,   4,   3,  0,  // blocks of 128 in 4 groups, 3 values, the first 0
                                  0,   0,   0,   0,  0,  // least difference 0, all groups 0 bits wide
                                  128, 1,   4,   3,  2,  // the first is 1, as zigzag
                                  0,   1,   0,   0,  0,  // one bit a difference in the first group
                                  2,   0,   0,   0,      // differences 0, 1
                                  '8', '9', '1', '0'};
  CHECK(tbq::index_page(runs) == want);
  CHECK(tbq::index_page({}).size() == 10);
}
