// Tests the memory of parts that are kept for long.
#include "live/pack.hpp"

#include "tests/bytes.hpp"
#include "tests/check.hpp"
#include "tests/files.hpp"

TEST(steps_that_tags_share_are_kept_once) {
  std::string file = bytes::record(bytes::version(1));
  for (int step = 0; step < 100; ++step) {
    for (const char* tag : {"a", "b", "c"})
      file += bytes::record(bytes::scalar(tag, step, static_cast<float>(step), 1.0 + step));
    if (step % 2 == 0) file += bytes::record(bytes::scalar("d", step, 1, 1.0 + step));
    if (step % 2 == 0) file += bytes::record(bytes::scalar("e", 99 - step, 2, 1.0 + step));
    if (step % 2 == 0) file += bytes::record(bytes::scalar("f", step, 3, 1.0 + step));
  }
  const TestFile on_disk(file);
  tbq::File handle;
  CHECK(handle.open(on_disk.path()) == 0);
  tbq::BlockReader reader;
  tbq::Pool pool;
  tbq::PartOptions asked;
  asked.kinds = tbq::bit(tbq::Kind::scalars);
  tbq::Part part, packed;
  tbq::decode_part(handle, reader, pool, asked, 0, UINT64_MAX, part);
  tbq::decode_part(handle, reader, pool, asked, 0, UINT64_MAX, packed);
  tbq::pack(packed, pool, nullptr);
  const auto steps_of = [&](const char* tag) { return packed.tags.find(tag)->scalars.chunks[0].steps(); };
  CHECK(steps_of("a") == steps_of("b") && steps_of("a") == steps_of("c"));
  CHECK(steps_of("d") == steps_of("f") && steps_of("d") != steps_of("a") && steps_of("d") != steps_of("e"));
  for (const auto& entry : part.tags.all) {
    const tbq::ScalarSeries& other = packed.tags.find(entry->tag)->scalars;
    CHECK(entry->scalars.rows() == other.rows());
    for (uint64_t row = 0; row < other.rows(); ++row) {
      const tbq::ScalarRow a = entry->scalars.row(row), b = other.row(row);
      CHECK(a.step == b.step && a.wall_time == b.wall_time && a.value == b.value);
    }
  }
}

TEST(full_chunks_share_steps_that_outlive_their_series) {
  std::string file = bytes::record(bytes::version(1));
  constexpr int kSteps = 70000;  // more than one full chunk
  for (int step = 0; step < kSteps; ++step) {
    for (const char* tag : {"a", "b"})
      file += bytes::record(bytes::scalar(tag, step, static_cast<float>(step + tag[0]), 1.0 + step));
    if (step % 1000 != 7) file += bytes::record(bytes::scalar("c", step, 1, 1.0 + step));
  }
  const TestFile on_disk(file);
  tbq::File handle;
  CHECK(handle.open(on_disk.path()) == 0);
  tbq::BlockReader reader;
  tbq::PartOptions asked;
  asked.kinds = tbq::bit(tbq::Kind::scalars);
  tbq::Part part;
  std::vector<tbq::ScalarChunk> kept;
  {
    tbq::Pool pool(true, true, true);
    tbq::Part packed;
    tbq::decode_part(handle, reader, pool, asked, 0, UINT64_MAX, part);
    tbq::decode_part(handle, reader, pool, asked, 0, UINT64_MAX, packed);
    tbq::pack(packed, pool, nullptr);
    const auto chunks_of = [&](const char* tag) { return packed.tags.find(tag)->scalars.chunks; };
    for (size_t i = 0; i < 2; ++i) {
      CHECK(chunks_of("a")[i].steps() == chunks_of("b")[i].steps());
      CHECK(chunks_of("a")[i].steps() != chunks_of("c")[i].steps());
    }
    kept = chunks_of("b");
    for (const auto& entry : packed.tags.all) entry->scalars.release(pool);
    tbq::Part second;  // uses the memory that was returned
    tbq::decode_part(handle, reader, pool, asked, 0, UINT64_MAX, second);
  }
  const tbq::ScalarSeries& want = part.tags.find("b")->scalars;
  uint64_t row = 0;
  for (const tbq::ScalarChunk& chunk : kept) {
    const std::shared_ptr<void> owner = chunk.owner();
    for (uint32_t i = 0; i < chunk.rows; ++i, ++row) CHECK(chunk.steps()[i] == want.row(row).step);
  }
  CHECK(row == kSteps);
}
