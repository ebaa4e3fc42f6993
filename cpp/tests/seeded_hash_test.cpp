// Tests that keys which collide in a standard hash table do not collide in a seeded one.
#include "bytes/seeded_hash.hpp"

#include <algorithm>
#include <vector>

#include "decode/tags.hpp"
#include "tests/bytes.hpp"
#include "tests/check.hpp"

namespace {

constexpr uint64_t kMultiplier = 0xc6a4a7935bd1e995;

uint64_t inverse(uint64_t odd) {
  uint64_t inverse = odd;  // three bits are right, and twice as many after each round
  for (int i = 0; i < 6; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}
uint64_t mix(uint64_t word) {
  word *= kMultiplier;
  return (word ^ word >> 47) * kMultiplier;
}
uint64_t unmix(uint64_t word) {
  word *= inverse(kMultiplier);
  return (word ^ word >> 47) * inverse(kMultiplier);
}

// Names of 16 bytes with the same hash in libstdc++, which uses MurmurHash64A with a public seed.
std::vector<std::string> colliding(size_t count) {
  const uint64_t start = 0xc70f6907U ^ 16 * kMultiplier;
  std::vector<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t state = (start ^ mix(i)) * kMultiplier;
    names.push_back(bytes::of(i) + bytes::of(unmix(state ^ 42)));
  }
  return names;
}

// The largest number of these keys in one of 2^15 buckets.
template <class Key>
size_t fullest(const std::vector<Key>& keys) {
  std::vector<size_t> buckets(size_t{1} << 15);
  for (const Key& key : keys) ++buckets[tbq::SeededHash()(key) % buckets.size()];
  return *std::max_element(buckets.begin(), buckets.end());
}

}  // namespace

TEST(names_that_collide_in_the_standard_hash_do_not_here) {
  const std::vector<std::string> names = colliding(20000);
#ifdef __GLIBCXX__
  const std::hash<std::string_view> standard;
  CHECK(std::all_of(names.begin(), names.end(),
                    [&](const auto& name) { return standard(name) == standard(names[0]); }));
#endif
  CHECK(fullest(names) < 32);
  tbq::TagTable table;
  for (const std::string& name : names) table.add(name);
  for (size_t i = 0; i < names.size(); ++i) CHECK(table.find(names[i]) == table.all[i].get());
}

TEST(numbers_that_are_multiples_of_the_buckets_are_spread) {
  std::vector<uint64_t> numbers;
  for (uint64_t i = 0; i < 20000; ++i) numbers.push_back(i << 15);
  CHECK(fullest(numbers) < 32);
}

TEST(every_byte_and_the_length_of_a_name_count) {
  std::string name(40, '\0');
  const tbq::SeededHash hash;
  CHECK(hash(name) == hash(std::string(40, '\0')) && hash(name) != hash(std::string(39, '\0')));
  for (char& byte : name) {
    byte = 1;
    CHECK(hash(name) != hash(std::string(40, '\0')));
    byte = 0;
  }
}
