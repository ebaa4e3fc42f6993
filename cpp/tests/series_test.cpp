// Tests templates of scalar events, and columns of scalars.
#include <string>

#include "decode/tags.hpp"
#include "tests/bytes.hpp"
#include "tests/check.hpp"

namespace {

// Whether `text` fits at the end of a buffer, where an event would be.
bool fits(const tbq::ScalarTemplate& known, const std::string& text) {
  const std::string buffer = std::string(15, '\x5a') + text;
  return known.fits(bytes::view(buffer).data() + buffer.size(), text.size());
}

}  // namespace

TEST(a_template_matches_other_numbers_and_no_other_bytes) {
  for (size_t size = 4; size < 70; ++size) {
    for (const uint32_t width : {4U, 8U}) {
      for (size_t slot = 0; slot + width <= size; slot += 3) {
        std::string text(size, '\0');
        for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(7 * i + 1);
        tbq::ScalarTemplate known;
        CHECK(!known.known());
        known.learn(bytes::view(text), slot, width);
        CHECK(known.known() && fits(known, text));
        CHECK(!fits(known, text + "x") && !fits(known, text.substr(1)));
        for (size_t i = 0; i < size; ++i) {
          std::string other = text;
          other[i] = static_cast<char>(other[i] ^ 0x10);
          CHECK(fits(known, other) == (i >= slot && i < slot + width));
        }
      }
    }
  }
}

TEST(the_number_of_a_template) {
  std::string text(20, 'a');
  tbq::ScalarTemplate known;
  const float single = 0.1F;
  text.replace(3, 4, reinterpret_cast<const char*>(&single), 4);
  known.learn(bytes::view(text), 3, 4);
  CHECK(known.number(bytes::view(text).data()) == static_cast<double>(single));
  const double value = -1e300;
  text.replace(5, 8, reinterpret_cast<const char*>(&value), 8);
  known.learn(bytes::view(text), 5, 8);
  CHECK(known.number(bytes::view(text).data()) == value);
}

TEST(columns_that_grow_together_spread_over_the_cache) {
  tbq::Pool pool(true, true);
  tbq::ScalarSeries first;
  tbq::ScalarSeries second;
  for (int64_t i = 0; i < 100'000; ++i) {
    first.append(pool, i, 0.5, 1.5);
    second.append(pool, i, 0.5, 1.5);
  }
  const auto line = [](const void* at) { return reinterpret_cast<uintptr_t>(at) / 64 % 64; };
  const auto& a = first.chunks.back();
  const auto& b = second.chunks.back();
  const uintptr_t lines[] = {line(a.steps()), line(a.wall_times()), line(a.values()),
                             line(b.steps()), line(b.wall_times()), line(b.values())};
  for (size_t i = 0; i < 6; ++i) {
    for (size_t j = 0; j < i; ++j) CHECK(lines[i] != lines[j]);
  }
  CHECK(first.rows() == 100'000 && a.steps()[first.size - 1] == 99'999);
}

TEST(a_series_gets_about_the_memory_that_it_needs) {
  for (const uint64_t rows : {300U, 5000U, 65536U, 65537U, 100'000U, 300'000U}) {
    for (const uint64_t promised : {uint64_t{0}, rows / 2, rows, rows * 1000}) {
      tbq::Pool pool(true, true);
      tbq::ScalarSeries series;
      for (uint64_t i = 0; i < rows; ++i) {
        pool.note_progress(i, promised > i ? promised - i : 0);
        series.append(pool, static_cast<int64_t>(i), 0.5, -static_cast<double>(i));
      }
      series.finish();
      CHECK(series.rows() == rows);
      uint64_t capacity = 0;
      for (const tbq::ScalarChunk& chunk : series.chunks) {
        capacity += chunk.block.rows;
        CHECK(chunk.rows == tbq::Pool::kLargest || &chunk == &series.chunks.back());
      }
      if (promised == rows) CHECK(capacity <= rows + rows / 32 + 4096);
      for (uint64_t i = 0; i < rows; ++i) {
        const tbq::ScalarRow row = series.row(i);
        if (row.step != static_cast<int64_t>(i) || row.value != -static_cast<double>(i)) CHECK(false);
      }
      series.release(pool);
    }
  }
}

TEST(wall_times_that_are_not_kept_are_absent) {
  for (const bool wall_times : {true, false}) {
    tbq::Pool pool(wall_times);
    tbq::ScalarSeries series;
    for (int i = 0; i < 1000; ++i) series.append(pool, i, 100 + i, -i);
    series.finish();
    for (const tbq::ScalarChunk& chunk : series.chunks) {
      CHECK(chunk.has_wall_times() == wall_times && (chunk.wall_times() != nullptr) == wall_times);
      for (uint32_t i = 0; i < chunk.rows; ++i) {
        CHECK(chunk.values()[i] == -static_cast<double>(chunk.steps()[i]));
        if (wall_times) CHECK(chunk.wall_times()[i] == 100 + static_cast<double>(chunk.steps()[i]));
      }
    }
    series.release(pool);
  }
}
