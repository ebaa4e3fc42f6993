// Tests the drop-ins' part of the core: the numbers of Python's random module, reservoirs, and growing files.
#include "compat/accumulator.hpp"
#include "compat/python_random.hpp"
#include "compat/record_file.hpp"
#include "compat/reservoir.hpp"
#include "io/memory_file.hpp"
#include "record/framing.hpp"
#include "tests/bytes.hpp"
#include "tests/check.hpp"

namespace {

struct Row {
  int64_t step;
};

std::vector<int64_t> steps(const tbq::Reservoir<Row>& reservoir) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < reservoir.rows().size(); ++i) out.push_back(reservoir.rows()[i].step);
  return out;
}

}  // namespace

TEST(random_numbers_equal_those_of_python) {
  // [random.Random(0).randrange(n) for n in (1, 2, 10, 1000, 10**6, 2**32, 2**40)] with one generator
  tbq::PythonRandom random(0);
  const uint64_t bounds[] = {1, 2, 10, 1000, 1000000, uint64_t{1} << 32, uint64_t{1} << 40};
  const uint64_t want[] = {0, 1, 0, 265, 536110, 2087043557, 669284121952};
  for (size_t i = 0; i < 7; ++i) CHECK(random.below(bounds[i]) == want[i]);
}

TEST(a_reservoir_keeps_the_last_and_counts_on_after_a_purge) {
  tbq::RowMemory memory;
  tbq::Reservoir<Row> reservoir({3, true}, memory);
  for (int64_t step = 0; step < 10; ++step) reservoir.add({step});
  CHECK(reservoir.rows().size() == 3);
  CHECK(steps(reservoir).back() == 9);
  CHECK(reservoir.purge(9) == 1);
  reservoir.add({20});
  CHECK(reservoir.rows().size() == 3);
  CHECK(reservoir.purge(0) == 3);
  CHECK(reservoir.rows().empty());
  tbq::Reservoir<Row> all({0, true}, memory);
  constexpr int64_t kMany = 100000;
  for (int64_t step = 0; step < kMany; ++step) all.add({step});
  CHECK(all.rows().size() == kMany && all.rows()[kMany - 1].step == kMany - 1 && all.rows()[31].step == 31);
  std::vector<Row> copied(kMany);
  all.rows().copy_to(copied.data());
  CHECK(copied[40000].step == 40000 && copied.back().step == kMany - 1);
  CHECK(all.purge(70000) == 30000);
  for (int64_t step = 0; step < 1000; ++step) all.add({step});
  CHECK(all.rows().size() == 71000 && all.rows()[69999].step == 69999 && all.rows()[70999].step == 999);
  CHECK(all.purge(-1) == 71000 && all.rows().empty());
  all.add({5});
  CHECK(steps(all) == std::vector<int64_t>{5});
}

TEST(rows_that_own_memory_are_moved_copied_and_freed) {
  struct Owning {
    int64_t step;
    std::shared_ptr<int> owned;
  };
  const auto shared = std::make_shared<int>(7);
  std::shared_ptr<const tbq::ChunkedRows<Owning>> snapshot;
  {
    tbq::RowMemory memory;
    tbq::Reservoir<Owning> rows({0, true}, memory);
    constexpr int64_t kMany = 600000;  // enough for RowMemory to use large pieces
    for (int64_t step = 0; step < kMany; ++step) rows.add({step, shared});
    CHECK(shared.use_count() == kMany + 1);
    snapshot = rows.snapshot();
    rows.add({kMany, shared});
    CHECK(snapshot->size() == kMany && rows.rows().size() == kMany + 1);
    CHECK(shared.use_count() == 2 * kMany + 2);
    CHECK(rows.purge(10) == kMany - 9);
    CHECK(shared.use_count() == kMany + 11);
  }
  CHECK(shared.use_count() == 600001 && (*snapshot)[599999].step == 599999 && *(*snapshot)[0].owned == 7);
  snapshot.reset();
  CHECK(shared.use_count() == 1);
  tbq::RowMemory memory;
  tbq::Reservoir<Owning> few({3, true}, memory);
  for (int64_t step = 0; step < 1000; ++step) few.add({step, shared});
  CHECK(shared.use_count() == 4 && few.rows()[2].step == 999);
}

TEST(a_record_is_returned_once_however_the_bytes_come) {
  std::string data;
  for (const char* payload : {"one", "two", "three"}) tbq::append_record(data, bytes::view(payload));
  for (size_t cut = 0; cut <= data.size(); ++cut) {
    tbq::MemoryFile memory(data.substr(0, cut));
    tbq::RecordFile file(memory.path());
    std::vector<std::string> payloads;
    const auto take = [&](tbq::Bytes record, uint64_t) {
      payloads.emplace_back(tbq::as_text(record));
      return payloads.size() != 2;  // a pause
    };
    CHECK(file.read(take) == 0);
    memory.content() = data;
    for (int i = 0; i < 3; ++i) CHECK(file.read(take) == 0);
    CHECK((payloads == std::vector<std::string>{"one", "two", "three"}));
    CHECK(file.take_faults().first.empty());
  }
}

TEST(the_field_of_a_value_decides_its_kind) {
  tbq::Accumulator accumulator({}, [](std::string_view) { return 2.0; });
  // wall_time 1, step 2, summary { value { tag: "a" simple_value: 0.5 } }
  const std::string event(
      "\x09\0\0\0\0\0\0\xf0\x3f\x10\x02\x2a\x0a\x0a\x08\x0a\x01"
      "a\x15\0\0\0\x3f",
      23);
  for (int i = 0; i < 3; ++i) accumulator.add(bytes::view(event));
  CHECK(accumulator.events() == 3);
  const auto* rows = accumulator.scalars("a");
  CHECK(rows && rows->size() == 3 && (*rows)[2].value == 0.5 && (*rows)[2].step == 2);
  CHECK(accumulator.values(tbq::LegacyKind::tensors, "a") == nullptr);
  CHECK(accumulator.tags(tbq::LegacyKind::scalars).size() == 1);
  accumulator.add(bytes::view("\x09"));
  CHECK(accumulator.events() == 3);
  CHECK(accumulator.take_notes().size() == 1);
}

TEST(messages_beyond_the_kept_bytes_are_read_again) {
  tbq::Accumulator accumulator({}, [](std::string_view) { return 2.0; });
  accumulator.set_most_kept(10000);
  // Three events of a tensor of 8,000 bytes: summary { value { tag: "a" tensor { ... } } }
  std::string data;
  for (char letter : {'x', 'y', 'z'}) {
    const std::string value = std::string(
                                  "\x0a\x01"
                                  "a\x42\xc0\x3e",
                                  6) +
                              std::string(8000, letter);
    const std::string event = std::string("\x2a\xc9\x3e\x0a\xc6\x3e", 6) + value;
    tbq::append_record(data, bytes::view(event));
  }
  tbq::MemoryFile memory(data);
  tbq::RecordFile file(memory.path());
  const auto path = std::make_shared<const std::string>(memory.path());
  file.read([&](tbq::Bytes event, uint64_t at) {
    accumulator.add(event, {path, at});
    return true;
  });
  const auto rows = accumulator.values(tbq::LegacyKind::tensors, "a");
  CHECK(rows && rows->size() == 3);
  std::string room;
  std::string_view message;
  for (size_t i = 0; i < 3; ++i) {
    CHECK((*rows)[i].payload.read(room, message));
    CHECK(message == std::string(8000, "xyz"[i]));
  }
  memory.content()[data.size() - 100] = 'w';
  CHECK((*rows)[0].payload.read(room, message));
  CHECK(!(*rows)[2].payload.read(room, message));
}
