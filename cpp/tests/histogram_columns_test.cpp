// Tests the columns of histograms and the rows of blobs.
#include <cstring>
#include <vector>

#include "decode/tags.hpp"
#include "tests/check.hpp"

namespace {

// A TensorProto of [rows, 3] doubles in tensor_content; the numbers count up from `first`.
std::vector<uint8_t> tensor(uint8_t rows, double first) {
  std::vector<uint8_t> bytes{0x08, 0x02, 0x12, 0x08, 0x12, 0x02, 0x08, rows, 0x12, 0x02, 0x08, 0x03, 0x22};
  const size_t size = size_t{rows} * tbq::HistogramColumns::kBin;
  if (size > 127) {
    bytes.push_back(static_cast<uint8_t>(size | 0x80));
    bytes.push_back(static_cast<uint8_t>(size >> 7));
  } else {
    bytes.push_back(static_cast<uint8_t>(size));
  }
  const size_t head = bytes.size();
  bytes.resize(head + size);
  for (size_t i = 0; i < size_t{rows} * 3; ++i) {
    const double number = first + static_cast<double>(i);
    std::memcpy(bytes.data() + head + 8 * i, &number, 8);
  }
  return bytes;
}

}  // namespace

TEST(columns_take_only_tensors_of_k_by_3_doubles) {
  tbq::HistogramColumns columns;
  const auto good = tensor(4, 1);
  CHECK(columns.numbers(good).size() == 96);
  CHECK(columns.numbers(good).size() == 96);  // now recognised by its head alone
  CHECK(columns.numbers(tensor(30, 1)).size() == 720);
  auto four_wide = good;
  four_wide[11] = 0x04;
  CHECK(columns.numbers(four_wide).empty());
  auto floats = good;
  floats[1] = 0x01;
  CHECK(columns.numbers(floats).empty());
  auto more_after = good;
  more_after.insert(more_after.end(), {0x08, 0x01});  // another dtype; the last one counts
  CHECK(columns.numbers(more_after).empty());
  auto cut = good;
  cut.pop_back();
  CHECK(columns.numbers(cut).empty());
  CHECK(columns.numbers({}).empty());
  CHECK(columns.numbers(tensor(0, 1)).empty());
}

TEST(numbers_are_in_three_columns_whatever_the_widths_of_rows) {
  tbq::HistogramColumns columns;
  tbq::Pool pool;
  std::vector<std::pair<tbq::BlobRow, double>> rows;
  std::vector<tbq::Pool::Block> blocks;
  double next = 0;
  for (const uint32_t width : {1U, 2U, 5U, 8U, 16U, 3U, 30U, 7U, 64U, 1U, 1U, 9U}) {
    if (width > columns.left()) {
      blocks.push_back(pool.raw(64 * tbq::HistogramColumns::kBin));
      columns.grow(blocks.back().data, 64);
    }
    const auto bytes = tensor(static_cast<uint8_t>(width), next);
    auto& [row, first] = rows.emplace_back(tbq::BlobRow{}, next);
    columns.append(columns.numbers(bytes), row);
    CHECK(row.bins == width);
    next += 3.0 * width;
  }
  columns.flush();
  CHECK(blocks.size() > 1);
  for (const auto& [row, first] : rows) {
    const auto* values = reinterpret_cast<const double*>(row.payload);
    for (size_t i = 0; i < row.bins; ++i) {
      for (size_t column = 0; column < 3; ++column) {
        CHECK(values[column * row.stride + i] == first + static_cast<double>(3 * i + column));
      }
    }
  }
}

TEST(blob_rows_keep_their_order_past_the_largest_block) {
  tbq::Pool pool;
  tbq::BlobRows rows;
  const size_t count = tbq::Pool::kLargest;  // several blocks: a row is larger than three numbers
  for (size_t i = 0; i < count; ++i) rows.add(pool).record = i;
  CHECK(rows.size() == count);
  bool same = true;
  for (size_t i = 0; i < count; ++i) same = same && rows[i].record == i && rows[i].payload == nullptr;
  CHECK(same);
  rows.release(pool);
  CHECK(rows.size() == 0);
}
