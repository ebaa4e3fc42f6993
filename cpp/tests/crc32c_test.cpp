#include "bytes/crc32c.hpp"

#include <cstring>
#include <random>
#include <vector>

#include "tests/check.hpp"

TEST(crc32c_known_values) {
  const char* digits = "123456789";
  CHECK(tbq::crc32c(0, reinterpret_cast<const uint8_t*>(digits), 9) == 0xe3069283U);
  const std::vector<uint8_t> zeros(32, 0);
  CHECK(tbq::crc32c(0, zeros.data(), zeros.size()) == 0x8a9136aaU);
  CHECK(tbq::crc32c(0, nullptr, 0) == 0);
}

TEST(crc32c_cpu_and_table_agree_at_every_size_and_split) {
  std::mt19937 random(7);
  std::vector<uint8_t> data(40000);
  for (auto& byte : data) byte = static_cast<uint8_t>(random());
  for (size_t size : {size_t{0}, size_t{1}, size_t{7}, size_t{8}, size_t{13}, size_t{767}, size_t{768},
                      size_t{769}, size_t{12287}, size_t{12288}, size_t{12289}, data.size()}) {
    const uint32_t want = tbq::crc32c_table(0, data.data(), size);
    CHECK(tbq::crc32c(0, data.data(), size) == want);
    const size_t half = size / 3;
    CHECK(tbq::crc32c(tbq::crc32c(0, data.data(), half), data.data() + half, size - half) == want);
  }
}
