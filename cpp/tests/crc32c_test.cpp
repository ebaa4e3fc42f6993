// Tests CRC32C by CPU and by table against its definition.
#include "bytes/crc32c.hpp"

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "tests/check.hpp"

namespace {

// Straight from the definition, bit by bit.
uint32_t next_crc(uint32_t crc, uint8_t byte) {
  crc = ~crc ^ byte;
  for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0);
  return ~crc;
}

}  // namespace

TEST(crc32c_known_values) {
  const char* digits = "123456789";
  CHECK(tbq::crc32c(0, reinterpret_cast<const uint8_t*>(digits), 9) == 0xe3069283U);
  CHECK(tbq::crc32c_table(0, reinterpret_cast<const uint8_t*>(digits), 9) == 0xe3069283U);
  const std::vector<uint8_t> zeros(32, 0);
  CHECK(tbq::crc32c(0, zeros.data(), zeros.size()) == 0x8a9136aaU);
  CHECK(tbq::crc32c(0, nullptr, 0) == 0 && tbq::crc32c_table(0, nullptr, 0) == 0);
}

TEST(crc32c_by_cpu_and_by_table_match_the_definition_at_every_size) {
  std::mt19937 random(7);
  const size_t most = 2 * 3 * 4096 + 3 * 256 + 3 * 64 + 16;
  const std::unique_ptr<uint8_t[]> data(new uint8_t[most + 8]);
  for (size_t i = 0; i < most + 8; ++i) data[i] = static_cast<uint8_t>(random());
  for (const size_t from : {size_t{0}, size_t{1}, size_t{4}, size_t{7}}) {
    uint32_t want = 0;
    int wrong = 0;
    for (size_t size = 0; size <= most; ++size) {
      // All sizes up to several of the short blocks, and sizes around each further limit.
      const bool edge = size < 2000 || (size < 5000 && (size + 20) % 192 < 40) || (size + 20) % 12288 < 300 ||
                        size + 20 > most;
      if (edge) {
        wrong += tbq::crc32c(0, data.get() + from, size) != want;
        wrong += tbq::crc32c_table(0, data.get() + from, size) != want;
      }
      want = next_crc(want, data[from + size]);
    }
    CHECK(wrong == 0);
  }
}

TEST(crc32c_continues_over_every_cut) {
  std::mt19937 random(8);
  std::vector<uint8_t> data(1700);
  for (auto& byte : data) byte = static_cast<uint8_t>(random());
  const uint32_t want = tbq::crc32c_table(0, data.data(), data.size());
  int wrong = 0;
  for (size_t cut = 0; cut <= data.size(); ++cut) {
    const auto joined = [&](auto&& first, auto&& second) {
      return second(first(0, data.data(), cut), data.data() + cut, data.size() - cut) != want;
    };
    wrong += joined(tbq::crc32c, tbq::crc32c) + joined(tbq::crc32c_table, tbq::crc32c_table);
    wrong += joined(tbq::crc32c, tbq::crc32c_table) + joined(tbq::crc32c_table, tbq::crc32c);
  }
  CHECK(wrong == 0);
}

TEST(crc32c_of_zeros_matches_that_of_zero_bytes) {
  const std::vector<uint8_t> zeros(100000);
  for (const uint32_t before : {0U, 1U, 0xffffffffU, 0x12345678U}) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{255}, size_t{4096}, size_t{99999}}) {
      CHECK(tbq::crc32c_zeros(before, count) == tbq::crc32c(before, zeros.data(), count));
    }
  }
  const uint64_t half = uint64_t{1} << 40;
  CHECK(tbq::crc32c_zeros(tbq::crc32c_zeros(7, half), half) == tbq::crc32c_zeros(7, 2 * half));
}
