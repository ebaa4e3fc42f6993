// Tests the writer's half of the core: encoded events, statuses and notes of EventBuffer, histograms, last
// steps.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <thread>

#include "bytes/crc32c.hpp"
#include "bytes/wire.hpp"
#include "record/framing.hpp"
#include "tests/check.hpp"
#include "write/event_buffer.hpp"
#include "write/histogram.hpp"
#include "write/last_step.hpp"

using namespace tbq;

namespace {

Bytes bytes_of(const Chunk& chunk) { return {chunk.data.get(), chunk.size}; }

// The payloads of a chunk; checks every CRC.
std::vector<Bytes> payloads(Bytes records) {
  std::vector<Bytes> all;
  Cursor cursor(records);
  while (!cursor.empty()) {
    const uint8_t* start = cursor.position();
    uint64_t length = 0;
    uint32_t crc = 0;
    Bytes payload;
    CHECK(cursor.fixed(length) && cursor.fixed(crc));
    CHECK(crc == crc_mask(crc32c(0, start, 8)));
    CHECK(cursor.bytes(length, payload) && cursor.fixed(crc));
    CHECK(crc == crc_mask(crc32c(0, payload.data(), payload.size())));
    all.push_back(payload);
  }
  return all;
}

Field find(Bytes message, uint32_t number) {
  Field field;
  for (Cursor cursor(message); cursor.field(field);) {
    if (field.number == number) return field;
  }
  return {};
}

}  // namespace

TEST(varint_size_is_what_varint_writes) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const uint64_t value : {uint64_t{1} << bit, (uint64_t{1} << bit) - 1, ~uint64_t{0} >> bit}) {
      uint8_t room[10];
      WireWriter out(room);
      out.varint(value);
      CHECK(static_cast<size_t>(out.position() - room) == varint_size(value));
    }
  }
}

TEST(scalar_event_has_its_fields) {
  EventBuffer buffer({});
  CHECK(buffer.scalar({"loss", ScalarStyle::simple, 0.5, 0, {}}, {12.25, 300, true}) == kWake);
  CHECK(buffer.scalar({"loss", ScalarStyle::simple, 0, 0, {}}, {0, -1, false}) == (kOk | kNote));
  const Chunk chunk = buffer.swap_out();
  CHECK(chunk.events == 2);
  const auto events = payloads(bytes_of(chunk));
  CHECK(events.size() == 2);
  CHECK(find(events[0], 1).as_double() == 12.25);
  CHECK(find(events[0], 2).as_int64() == 300);
  const Bytes value = find(find(events[0], 5).bytes, 1).bytes;
  CHECK(as_text(find(value, 1).bytes) == "loss");
  CHECK(find(value, 2).as_float() == 0.5f);
  CHECK(find(events[1], 2).as_int64() == -1);
  CHECK(find(find(find(events[1], 5).bytes, 1).bytes, 2).wire == Wire::fixed32);  // zero is on the wire
}

TEST(tensor_styles_keep_the_value) {
  EventBuffer buffer({});
  const int64_t big = (int64_t{1} << 53) + 1;
  const Scalar scalars[] = {{"f", ScalarStyle::tensor_float, 0.25, 0, {}},
                            {"d", ScalarStyle::tensor_double, 0.1, 0, {}},
                            {"i", ScalarStyle::tensor_int64, 0, big, {}},
                            {"n", ScalarStyle::tensor_int64, 0, -1, {}}};
  CHECK(buffer.scalars(scalars, {1, 2, true}) == kWake);
  const Chunk chunk = buffer.swap_out();
  const auto events = payloads(bytes_of(chunk));
  CHECK(events.size() == 1);
  Cursor summary(find(events[0], 5).bytes);
  Field value;
  std::vector<Bytes> tensors;
  while (summary.field(value)) {
    tensors.push_back(find(value.bytes, 8).bytes);
    CHECK(as_text(find(find(find(value.bytes, 9).bytes, 1).bytes, 1).bytes) == "scalars");
  }
  CHECK(tensors.size() == 4);
  CHECK(load_le<float>(find(tensors[0], 5).bytes.data()) == 0.25f);
  CHECK(load_le<double>(find(tensors[1], 6).bytes.data()) == 0.1);
  uint64_t integer = 0;
  CHECK(Cursor(find(tensors[2], 10).bytes).varint(integer) && static_cast<int64_t>(integer) == big);
  CHECK(Cursor(find(tensors[3], 10).bytes).varint(integer) && static_cast<int64_t>(integer) == -1);
}

TEST(steps_that_do_not_advance_are_reported_once_per_tag) {
  EventBuffer buffer({});
  const Scalar loss{"loss", ScalarStyle::simple, 1, 0, {}};
  const Scalar acc{"acc", ScalarStyle::simple, 1, 0, {}};
  CHECK(buffer.scalar(loss, {1, 5, true}) == kWake);
  CHECK(buffer.scalar(loss, {1, 6, true}) == kOk);
  CHECK(buffer.scalar(loss, {1, 4, true}) == kNote);
  CHECK(buffer.scalar(acc, {1, 4, true}) == kNote);
  auto notes = buffer.notes();
  CHECK(notes.size() == 1 && notes[0].kind == Note::backwards && notes[0].tag == "loss");
  CHECK(notes[0].before == 6 && notes[0].step == 4);
  CHECK(buffer.scalar(loss, {1, 4, true}) == kOk);
  CHECK(buffer.scalar(acc, {1, 4, true}) == kOk);  // the same value again
  const Scalar other{"acc", ScalarStyle::simple, 2, 0, {}};
  CHECK(buffer.scalar(other, {1, 4, true}) == kNote);
  notes = buffer.notes();
  CHECK(notes.size() == 1 && notes[0].kind == Note::stuck && notes[0].tag == "acc");
}

TEST(another_session_may_begin_at_any_step) {
  EventBuffer buffer({});
  const Scalar loss{"loss", ScalarStyle::simple, 1, 0, {}};
  CHECK(buffer.scalar(loss, {1, 5, true}) == kWake);
  buffer.forget_steps();
  CHECK(buffer.scalar(loss, {1, 0, true}) == kOk);
  buffer.forget();
  CHECK(buffer.scalar(loss, {1, 0, true}) == kWake);
  CHECK(buffer.notes().empty());
}

TEST(a_first_step_before_the_end_of_an_existing_run_is_reported) {
  EventBuffer buffer({});
  buffer.expect_after(100);
  CHECK(buffer.scalar({"a", ScalarStyle::simple, 1, 0, {}}, {1, 0, false}) == kWake);
  CHECK(buffer.scalar({"a", ScalarStyle::simple, 1, 0, {}}, {1, 90, true}) == kNote);
  const auto notes = buffer.notes();
  CHECK(notes.size() == 1 && notes[0].kind == Note::behind && notes[0].before == 100 && notes[0].step == 90);
}

TEST(limits_flush_by_size_and_count_and_wait_or_drop_past_the_end) {
  EventBuffer buffer({100, 1000, 300});
  const Scalar loss{"loss", ScalarStyle::simple, 1, 0, {}};
  int64_t step = 1;
  CHECK(buffer.scalar(loss, {1, step++, true}) == kWake);
  while (buffer.pending_bytes() < 60) CHECK(buffer.scalar(loss, {1, step++, true}) == kOk);
  CHECK(buffer.scalar(loss, {1, step++, true}) == kFull);
  CHECK(buffer.scalar(loss, {1, step++, true}) == kOk);  // reported once until the records are swapped out
  while (buffer.pending_bytes() <= 260) CHECK(buffer.scalar(loss, {1, step++, true}) == kOk);
  for (int i = 0; i < 3; ++i) CHECK(buffer.scalar(loss, {1, step++, true}) == kOver);  // appended anyway
  CHECK(buffer.pending_bytes() > 300 && buffer.dropped() == 0);
  CHECK(buffer.swap_out().events == static_cast<size_t>(step - 1));
  buffer.drop_past_limit(true);
  while (buffer.dropped() == 0) buffer.scalar(loss, {1, step++, true});
  CHECK(buffer.pending_bytes() <= 300);
  CHECK(buffer.notes().back().kind == Note::dropped);
  const Chunk chunk = buffer.swap_out();
  CHECK(payloads(bytes_of(chunk)).size() == chunk.events);
  const std::string large(1000, 'x');
  CHECK(buffer.value("image", 0x22, large, {}, {1, 1, true}) == (kWake | kFull));  // empty, it takes any size
  buffer.drop_past_limit(false);
  CHECK(buffer.scalar(loss, {1, step++, true}) == kOver);

  EventBuffer counted({size_t{1} << 20, 2, size_t{1} << 20});
  CHECK(counted.scalar(loss, {1, 1, true}) == kWake);
  CHECK(counted.scalar(loss, {1, 2, true}) == kFull);
}

TEST(a_chunk_that_is_put_back_comes_first) {
  EventBuffer buffer({});
  const auto log = [&](int64_t step) {
    buffer.scalar({"a", ScalarStyle::simple, 1, 0, {}}, {1, step, true});
  };
  log(1);
  log(2);
  buffer.put_back(buffer.swap_out());
  Chunk chunk = buffer.swap_out();
  for (int64_t step = 3; step < 5000; ++step) log(step);
  buffer.put_back(std::move(chunk));
  log(5000);
  chunk = buffer.swap_out();
  const auto events = payloads(bytes_of(chunk));
  CHECK(events.size() == 5000 && chunk.events == 5000);
  for (size_t i = 0; i < events.size(); ++i) {
    CHECK(find(events[i], 2).as_int64() == static_cast<int64_t>(i + 1));
  }
}

TEST(a_closed_buffer_takes_nothing) {
  EventBuffer buffer({});
  buffer.close();
  CHECK(buffer.scalar({"a", ScalarStyle::simple, 1, 0, {}}, {1, 1, true}) == kClosed);
  CHECK(buffer.fields("x", {}) == kClosed);
  CHECK(buffer.swap_out().size == 0);
}

TEST(whole_records_counts_only_complete_records) {
  std::string records;
  std::vector<size_t> ends = {0};
  for (const size_t size : {0, 1, 100, 7}) {
    append_record(records, std::vector<uint8_t>(size, 3));
    ends.push_back(records.size());
  }
  for (size_t size = 0; size <= records.size(); ++size) {
    size_t want = 0;
    for (const size_t end : ends) {
      if (end <= size) want = end;
    }
    const std::vector<uint8_t> exact(records.begin(), records.begin() + static_cast<ptrdiff_t>(size));
    CHECK(whole_records(exact) == want);
  }
}

TEST(last_step_is_found_in_a_torn_tail) {
  EventBuffer buffer({});
  for (const int64_t step : {3, 900, 7}) buffer.scalar({"a", ScalarStyle::simple, 1, 0, {}}, {1, step, true});
  const Chunk chunk = buffer.swap_out();
  std::vector<uint8_t> tail(chunk.data.get() + 5, chunk.data.get() + chunk.size);  // torn front
  CHECK(last_step(tail) == 900);
  tail.pop_back();  // torn end
  CHECK(last_step(tail) == 900);
  CHECK(!last_step({}));
  CHECK(!last_step(std::vector<uint8_t>(1000, 0)));
}

TEST(threads_lose_nothing) {
  EventBuffer buffer({});
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&buffer, t] {
      const std::string tag = "t" + std::to_string(t);
      for (int64_t step = 1; step <= 500; ++step) {
        buffer.scalar({tag, ScalarStyle::simple, 1, 0, {}}, {1, step, true});
      }
    });
  }
  size_t events = 0;
  for (int round = 0; round < 50; ++round) {
    Chunk chunk = buffer.swap_out();
    events += payloads(bytes_of(chunk)).size();
    buffer.give_back(std::move(chunk));
  }
  for (auto& thread : threads) thread.join();
  const Chunk rest = buffer.swap_out();
  events += payloads(bytes_of(rest)).size();
  CHECK(events == 8 * 500);
  CHECK(buffer.notes().empty());
}

TEST(packed_varints_read_back) {
  const std::vector<int64_t> values = {0, 1, 127, 128, -1, std::numeric_limits<int64_t>::min()};
  const auto packed = packed_varints(values);
  Cursor cursor{Bytes(packed)};
  for (const int64_t value : values) {
    uint64_t got = 0;
    CHECK(cursor.varint(got) && static_cast<int64_t>(got) == value);
  }
  CHECK(cursor.empty());
}

TEST(default_histogram_agrees_with_a_plain_search) {
  const auto& edges = default_bin_edges();
  std::vector<double> values = {0.0,
                                -0.0,
                                1e-13,
                                -1e-13,
                                1e19,
                                -1e19,
                                1e21,
                                -1e21,
                                1,
                                -1,
                                0.5,
                                5e-324,
                                std::numeric_limits<double>::infinity()};
  for (const double edge : edges) {
    values.push_back(edge);
    values.push_back(std::nextafter(edge, 1e300));
    values.push_back(std::nextafter(edge, -1e300));
  }
  std::vector<int64_t> want(edges.size() - 1, 0);
  for (const double value : values) {
    for (size_t bin = 0; bin + 1 < edges.size(); ++bin) {
      const bool last = bin + 2 == edges.size();
      if (value >= edges[bin] && (value < edges[bin + 1] || (last && value == edges[bin + 1]))) ++want[bin];
    }
  }
  CHECK(default_histogram(std::span<const double>(values)).counts == want);
  values.push_back(std::numeric_limits<double>::quiet_NaN());
  const Histogram with_nan = default_histogram(std::span<const double>(values));
  CHECK(with_nan.counts == want);
  CHECK(std::isnan(with_nan.min) && std::isnan(with_nan.max) && std::isnan(with_nan.sum));
}
