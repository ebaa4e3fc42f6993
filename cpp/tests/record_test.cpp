// Tests splitting and finding records.
#include <memory>
#include <random>
#include <vector>

#include "record/framing.hpp"
#include "tests/bytes.hpp"
#include "tests/check.hpp"

namespace {

using tbq::Stop;

struct Split {
  std::vector<std::string> payloads;
  size_t consumed = 0;
  Stop stop = Stop::more;
  bool operator==(const Split&) const = default;
};

Split split_by(tbq::Frames (*split_records)(tbq::Bytes, tbq::Frame*, size_t), const std::string& file,
               size_t capacity) {
  const std::unique_ptr<uint8_t[]> exact(new uint8_t[file.size()]);
  std::memcpy(exact.get(), file.data(), file.size());
  std::vector<tbq::Frame> frames(capacity);
  const tbq::Frames found = split_records({exact.get(), file.size()}, frames.data(), capacity);
  Split out;
  for (size_t i = 0; i < found.count; ++i) {
    out.payloads.emplace_back(reinterpret_cast<const char*>(frames[i].payload), frames[i].length);
  }
  out.consumed = static_cast<size_t>(found.at - exact.get());
  out.stop = found.stop;
  return out;
}

// Runs both versions and compares them.
Split split(const std::string& file, size_t capacity = 100) {
  const Split found = split_by(tbq::split_records, file, capacity);
  CHECK(split_by(tbq::split_records_table, file, capacity) == found);
  return found;
}

size_t find(const std::string& bytes, uint64_t longest = ~uint64_t{0}) {
  const std::unique_ptr<uint8_t[]> exact(new uint8_t[bytes.size()]);
  std::memcpy(exact.get(), bytes.data(), bytes.size());
  const size_t found = tbq::find_header({exact.get(), bytes.size()}, longest);
  CHECK(tbq::find_header_table({exact.get(), bytes.size()}, longest) == found);
  return found;
}

// The same search, one byte at a time.
size_t find_slowly(const std::string& bytes, uint64_t longest) {
  for (size_t i = 0; i + tbq::kHeader <= bytes.size(); ++i) {
    uint64_t length;
    if (tbq::read_header(reinterpret_cast<const uint8_t*>(bytes.data()) + i, length) && length <= longest)
      return i;
  }
  return bytes.size();
}

}  // namespace

TEST(records_are_split_up_to_every_cut) {
  const std::vector<std::string> payloads = {"", "a", "hello", std::string(800, 'x')};
  std::string file;
  std::vector<size_t> ends;
  for (const std::string& payload : payloads) {
    file += bytes::record(payload);
    ends.push_back(file.size());
  }
  for (size_t cut = 0; cut <= file.size(); ++cut) {
    const Split got = split(file.substr(0, cut));
    size_t complete = 0;
    while (complete < ends.size() && ends[complete] <= cut) ++complete;
    CHECK(got.payloads ==
          std::vector<std::string>(payloads.begin(), payloads.begin() + static_cast<long>(complete)));
    CHECK(got.consumed == (complete == 0 ? 0 : ends[complete - 1]));
    CHECK(got.stop == Stop::more);
  }
  CHECK(split(file, 2).stop == Stop::full && split(file, 2).consumed == ends[1]);
}

TEST(a_flipped_bit_anywhere_in_a_record_stops_at_it) {
  const std::string first = bytes::record("first");
  const std::string second = bytes::record("second");
  for (size_t bit = 0; bit < second.size() * 8; ++bit) {
    std::string damaged = second;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    const Split got = split(first + damaged + first);
    CHECK(got.payloads == std::vector<std::string>{"first"} && got.consumed == first.size());
    CHECK(got.stop == (bit / 8 < tbq::kHeader ? Stop::bad_length : Stop::bad_payload));
  }
}

TEST(a_large_record_is_left_to_the_caller) {
  const std::string just = bytes::record(std::string(tbq::kLargeRecord, 'x'));
  const std::string large = bytes::record(std::string(tbq::kLargeRecord + 1, 'x'));
  CHECK(split(just).payloads.size() == 1);
  CHECK(split(large).stop == Stop::large && split(large).consumed == 0);
  CHECK(split(large.substr(0, tbq::kHeader)).stop == Stop::large);
}

TEST(records_of_every_size_around_the_limits_are_split) {
  for (const size_t around : {size_t{8}, size_t{192}, size_t{256}, size_t{768}, size_t{4096}}) {
    for (size_t size = around < 12 ? 0 : around - 12; size < around + 12; ++size) {
      std::string file = bytes::record(std::string(size, 'x')) + bytes::record("next");
      const Split got = split(file);
      CHECK(size > tbq::kLargeRecord ? got.stop == Stop::large : got.payloads.size() == 2);
      file[tbq::kHeader + size / 2] ^= 1;
      if (size > 0 && size <= tbq::kLargeRecord) CHECK(split(file).stop == Stop::bad_payload);
    }
  }
}

TEST(a_header_is_found_at_every_offset) {
  const std::string record = bytes::record("payload");
  for (size_t before = 0; before < 70; ++before) {
    CHECK(find(std::string(before, '\xa5') + record) == before);
    CHECK(find(std::string(before, '\0') + record.substr(0, tbq::kHeader)) == before);
    CHECK(find(std::string(before, '\0') + record.substr(0, tbq::kHeader - 1)) == before + tbq::kHeader - 1);
  }
  CHECK(find(record, 6) == record.size());
  CHECK(find(record, 7) == 0);
  CHECK(find("") == 0);
  uint64_t length = 0;
  CHECK(tbq::read_header(reinterpret_cast<const uint8_t*>(record.data()), length) && length == 7);
}

TEST(runs_of_zeros_are_skipped_to_the_same_header) {
  uint64_t length = 1;
  CHECK(!tbq::read_header(reinterpret_cast<const uint8_t*>(std::string(tbq::kHeader, '\0').data()), length));
  std::mt19937 random(7);
  const auto below = [&](unsigned n) { return static_cast<size_t>(random() % n); };
  for (int round = 0; round < 20000; ++round) {
    std::string bytes;
    while (below(8) != 0) {
      switch (below(5)) {
        case 0:
          bytes += std::string(below(40), '\0');
          break;
        case 1:
          bytes += std::string(below(600), '\0');
          break;
        case 2:
          bytes += static_cast<char>(random());
          break;
        case 3:
          bytes += bytes::of(uint64_t{below(3)}).substr(0, below(9));
          break;
        default:
          const std::string record = bytes::record(std::string(below(20), '\0'));
          bytes +=
              record.substr(0, below(3) == 0 ? below(static_cast<unsigned>(record.size())) : record.size());
      }
    }
    const uint64_t longest = below(2) == 0 ? ~uint64_t{0} : below(20);
    CHECK(find(bytes, longest) == find_slowly(bytes, longest));
  }
}
