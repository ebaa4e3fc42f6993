// Tests the decoding of one part of a file.
#include "decode/part.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>

#include "record/recovery.hpp"
#include "tests/bytes.hpp"
#include "tests/check.hpp"
#include "tests/files.hpp"

namespace {

struct Decoded {
  tbq::Pool pool;
  tbq::Part part;
};

std::unique_ptr<Decoded> decode(const std::string& content, uint64_t begin = 0, uint64_t limit = UINT64_MAX,
                                tbq::PartOptions options = {.kinds = tbq::bit(tbq::Kind::scalars)},
                                size_t block = 4096) {
  const TestFile held(content);
  tbq::File file;
  CHECK(file.open(held.path()) == 0);
  auto out = std::make_unique<Decoded>();
  tbq::BlockReader reader(block);
  tbq::decode_part(file, reader, out->pool, options, begin, limit, out->part);
  return out;
}

std::string image(int64_t step, size_t size) {
  return bytes::event(1e9, step,
                      bytes::summary(bytes::message(1, "img") + bytes::message(4, std::string(size, 'x'))));
}

}  // namespace

TEST(a_part_has_the_records_that_start_in_it) {
  const std::string record = bytes::record(bytes::scalar("a", 1, 1.0F));
  const std::string file = record + record + record + record;
  for (uint64_t limit = 1; limit <= file.size(); ++limit) {
    const auto got = decode(file, 0, limit);
    const uint64_t want = (limit + record.size() - 1) / record.size();
    CHECK(got->part.records == want && got->part.stopped == want * record.size());
    CHECK(got->part.tags.find("a")->scalars.rows() == want);
  }
  const auto rest = decode(file, record.size() * 3);
  CHECK(rest->part.records == 1 && rest->part.sessions[0].continues);
}

TEST(sessions_begin_with_the_file_and_with_each_further_version) {
  const std::string file = bytes::record(bytes::version(5)) + bytes::record(bytes::scalar("a", 3, 1.0F, 6)) +
                           bytes::record(bytes::version(9)) + bytes::record(bytes::version(9.5)) +
                           bytes::record(bytes::scalar("a", 2, 1.0F, 4)) +
                           bytes::record(bytes::event(10, 7, bytes::message(7, bytes::number(1, 1)))) +
                           bytes::record(bytes::event(10, 4, bytes::message(7, bytes::number(1, 1))));
  const auto got = decode(file);
  const auto& sessions = got->part.sessions;
  CHECK(sessions.size() == 3);
  CHECK(sessions[0].times.begin == 5 && sessions[0].times.end == 6 && !sessions[0].start.known);
  CHECK(sessions[1].times.begin == 9 && sessions[1].records == 1);
  CHECK(sessions[2].times.begin == 9.5 && sessions[2].times.end == 10 && sessions[2].start.known &&
        sessions[2].start.step == 4);
  const auto& segments = got->part.tags.find("a")->scalars.segments.all;
  CHECK(segments.size() == 2 && segments[0].session == 0 && segments[1].session == 2);
  CHECK(segments[0].end == 1 && segments[1].begin == 1 && segments[1].end == 2);
}

TEST(steps_outside_the_range_are_counted_but_not_stored) {
  std::string file = bytes::record(bytes::version(5));
  for (int step = 0; step < 10; ++step) file += bytes::record(bytes::scalar("a", step, 1.0F));
  tbq::PartOptions options{.kinds = tbq::bit(tbq::Kind::scalars)};
  options.first_step = 4;
  options.last_step = 6;
  const auto got = decode(file, 0, UINT64_MAX, options);
  const tbq::TagEntry* entry = got->part.tags.find("a");
  CHECK(entry->scalars.rows() == 3 && entry->scalars.chunks[0].steps()[0] == 4);
  CHECK(entry->scalars.segments.all[0].seen.steps.count == 10 &&
        entry->scalars.segments.all[0].seen.steps.max == 9);
}

TEST(a_large_payload_is_skipped_once_its_tag_is_known) {
  const std::string file = bytes::record(bytes::version(5)) + bytes::record(image(1, 100)) +
                           bytes::record(image(2, 600000)) + bytes::record(bytes::scalar("a", 3, 1.0F));
  const auto got = decode(file);
  CHECK(got->part.records == 3 && got->part.passed == 1);
  CHECK(got->part.bytes_read < 100000 && got->part.faults.empty());
  const auto careful = decode(file, 0, UINT64_MAX, {.careful = true});
  CHECK(careful->part.records == 4 && careful->part.passed == 0);
  const auto images = decode(file, 0, UINT64_MAX, {.kinds = tbq::bit(tbq::Kind::images)});
  const auto& rows = images->part.tags.find("img")->blobs.find(static_cast<uint8_t>(tbq::Kind::images))->rows;
  CHECK(rows.size() == 2 && rows[1].payload_length == 600000 && rows[1].payload[599999] == 'x');
}

// If bytes are cut out of a large record, its length leads to the end of the next record.
TEST(a_small_record_inside_a_large_one_is_not_skipped) {
  const std::string before = bytes::record(bytes::version(5)) + bytes::record(image(1, 100));
  const std::string after = bytes::record(bytes::scalar("last", 4, 1.0F));
  for (size_t size = 1; size < 400; size += size == 50 ? 250 : 1) {
    const std::string tag(size, 'a');  // the length of its record takes one byte, or two
    const std::string inside = bytes::record(bytes::scalar(tag, 3, 1.0F));
    for (const char filler : {'x', '\0'}) {
      std::string large = bytes::record(image(2, 20000));
      large.resize(large.size() - inside.size());
      std::fill(large.end() - 20, large.end(), filler);
      const auto got = decode(before + large + inside + after);
      const tbq::TagEntry* entry = got->part.tags.find(tag);
      CHECK(entry && entry->scalars.rows() == 1);
      CHECK(got->part.passed == 0 && !got->part.faults.empty());
      CHECK(got->part.tags.find("last")->scalars.rows() == 1);
    }
  }
}

TEST(the_next_record_is_found_from_every_byte) {
  const std::string record = bytes::record(bytes::scalar("a", 1, 1.0F));
  const TestFile held(record + record + record);
  tbq::File file;
  CHECK(file.open(held.path()) == 0);
  tbq::BlockReader reader(7);
  reader.reset(&file, file.size());
  for (uint64_t from = 0; from < 3 * record.size(); ++from) {
    const uint64_t want = (from + record.size() - 1) / record.size() * record.size();
    CHECK(tbq::Recovery(reader).find_record(from).resume == want);
  }
}

TEST(a_file_that_has_shrunk_ends_early) {
  const std::string record = bytes::record(bytes::scalar("a", 1, 1.0F));
  std::string content;
  for (int i = 0; i < 100; ++i) content += record;
  const TestFile held(content);
  tbq::File file;
  CHECK(file.open(held.path()) == 0);
  held.write(content.substr(0, record.size() * 10 + 5));  // while the file is open
  tbq::BlockReader reader(64);
  tbq::Pool pool;
  tbq::Part part;
  tbq::decode_part(file, reader, pool, {.kinds = tbq::bit(tbq::Kind::scalars)}, 0, UINT64_MAX, part);
  CHECK(part.records == 10 && part.truncated == 5 && part.end == record.size() * 10 + 5 && part.error == 0);
}

TEST(a_file_that_cannot_be_opened_has_an_error) {
  tbq::File file;
  CHECK(file.open("no/such/file") == ENOENT);
  CHECK(file.open(std::filesystem::temp_directory_path().string()) != 0);
}
