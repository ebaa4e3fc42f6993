// Tests CSV lines of array elements.
#include "text/elements.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/check.hpp"

namespace {

template <class T>
std::string lines(const std::vector<T>& values, char separator = ',', uint64_t start = 0,
                  const std::string& prefix = "p,") {
  const tbq::ElementLines all(prefix, separator);
  std::vector<char> room(all.longest() * values.size());
  const char* end = all.write(room.data(), start, std::span<const T>(values));
  return {room.data(), static_cast<size_t>(end - room.data())};
}

}  // namespace

TEST(element_lines_print_every_type) {
  CHECK(lines<float>({0.1F, -0.0F}) == "p,0,0.1\np,1,-0.0\n");
  CHECK(lines<float>({1e-5F, 3e38F}, '\t') == "p,0\t1e-05\np,1\t3e+38\n");
  CHECK(lines<double>({static_cast<double>(0.1F), 0.1}) == "p,0,0.10000000149011612\np,1,0.1\n");
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(lines<double>({std::nan(""), inf, -inf}) == "p,0,nan\np,1,inf\np,2,-inf\n");
  CHECK(lines<int64_t>({std::numeric_limits<int64_t>::min()}) == "p,0,-9223372036854775808\n");
  CHECK(lines<uint64_t>({std::numeric_limits<uint64_t>::max()}) == "p,0,18446744073709551615\n");
  CHECK(lines<float>({}).empty());
}

TEST(element_lines_start_anywhere) {
  CHECK(lines<int64_t>({1, 2, 3}, ',', 9) == "p,9,1\np,10,2\np,11,3\n");
  CHECK(lines<int64_t>({7}, ',', uint64_t{1} << 62) == "p,4611686018427387904,7\n");
}

TEST(element_lines_of_any_prefix) {
  for (const size_t size : {0, 1, 31, 32, 33, 64, 1000}) {
    const std::string prefix(size, 'x');
    CHECK(lines<float>({0.5F, 0.25F}, ',', 0, prefix) == prefix + "0,0.5\n" + prefix + "1,0.25\n");
  }
}
