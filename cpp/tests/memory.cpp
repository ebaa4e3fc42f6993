// Makes every allocation and every start of a thread fail once. A separate program, because it replaces
// operator new and pthread_create.
#ifdef __linux__
#include <dlfcn.h>
#include <pthread.h>
#endif

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>

#include "decode/crew.hpp"
#include "decode/decode.hpp"
#include "fuzz/rows.hpp"
#include "io/memory_file.hpp"
#include "live/store.hpp"
#include "tables/kinds.hpp"
#include "tables/result_tables.hpp"
#include "tests/bytes.hpp"
#include "tests/check.hpp"
#include "tests/files.hpp"

namespace {

thread_local int64_t allocations_left = -1;  // the next allocation after these fails; -1: none fails
thread_local size_t allocated = 0;           // total bytes
int threads_left = -1;                       // later threads cannot be started; -1: all can

void* allocate(size_t size, size_t alignment) {
  if (allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc();
  void* memory = alignment == 0
                     ? std::malloc(size == 0 ? 1 : size)
                     : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (!memory) throw std::bad_alloc();
  allocated += size;
  return memory;
}

// Calls work() repeatedly, with each of its allocations failing in turn, until a call needs no further
// allocation. work() returns whether it failed.
template <class Work>
void fail_each(Work&& work) {
  for (int64_t n = 0;; ++n) {
    allocations_left = n;
    const bool failed = work();
    const bool reached = allocations_left < 0;
    allocations_left = -1;
    CHECK(failed == reached);
    if (!reached) break;
  }
}

std::string log_of_every_path() {
  using namespace bytes;
  std::string file = record(version(1e9));
  const std::string histogram = number(1, 2) +
                                message(2, message(2, number(1, 2)) + message(2, number(1, 3))) +
                                message(4, std::string(48, '\1'));
  for (int64_t step = 1; step < 40; ++step) {
    file += record(scalar("loss", step, 0.5F)) + record(scalar("accuracy", step, 0.5F));
    file +=
        record(event(1e9, step, summary(message(1, "h") + message(8, histogram) + metadata("histograms"))));
  }
  const std::string text =
      number(1, 7) + message(2, message(2, number(1, 1))) + message(8, std::string(5000, 't'));
  file += record(event(1e9, 1, summary(message(1, "t") + message(8, text) + metadata("text"))));
  file += record(event(1e9, 2, summary(message(1, "t") + message(8, text) + metadata("text"))));
  return file + std::string(100, '\0') + record(version(2e9)) + record(scalar("loss", 3, 0.25F, 2e9));
}

tbq::DecodeOptions all_kinds() {
  tbq::DecodeOptions options;
  options.in_place = true;
  options.skippable = 0;
  options.kinds = ~tbq::Kinds{0};
  options.session_tables = true;
  return options;
}

// Reads a stream to its end; false, with an errno and a message, if it fails.
bool drained(ArrowArrayStream& stream) {
  ArrowSchema schema;
  int error = stream.get_schema(&stream, &schema);
  if (error == 0) {
    schema.release(&schema);
    for (;;) {
      ArrowArray array;
      error = stream.get_next(&stream, &array);
      if (error != 0) CHECK(!array.release);
      if (!array.release) break;
      array.release(&array);
    }
  } else {
    CHECK(!schema.release);
  }
  if (error != 0) {
    CHECK(error == ENOMEM && std::strcmp(stream.get_last_error(&stream), "out of memory") == 0);
  }
  return error == 0;
}

}  // namespace

void* operator new(size_t size) { return allocate(size, 0); }
void* operator new(size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<size_t>(alignment));
}
// Callers of this form can do without memory.
void* operator new(size_t size, const std::nothrow_t&) noexcept { return std::malloc(size == 0 ? 1 : size); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

#ifdef __linux__
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) {
  if (threads_left == 0) return EAGAIN;
  if (threads_left > 0) --threads_left;
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  return reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"))(thread, attributes, start, argument);
}

TEST(a_crew_works_with_the_threads_that_start) {
  for (int started = 0; started < 4; ++started) {
    std::atomic<int> done[50] = {};
    tbq::Crew crew;
    threads_left = started;
    CHECK(crew.run(50, 3, [&](unsigned worker, size_t job) { done[job] += worker < 3 ? 1 : 100; }));
    CHECK(threads_left == std::max(0, started - 3));
    threads_left = -1;
    for (const auto& count : done) CHECK(count == 1);
  }
}

TEST(a_decode_and_a_poll_need_no_further_thread) {
  const TestFile file(log_of_every_path());
  tbq::DecodeOptions options = all_kinds();
  const tbq::Result want = tbq::decode({{file.path(), 0}, {file.path(), 1}}, options);
  options.in_place = false;
  options.threads = 3;
  options.split = 1000;
  for (int started = 0; started < 3; ++started) {
    threads_left = started;
    CHECK(reported(tbq::decode({{file.path(), 0}, {file.path(), 1}}, options), true) == reported(want, true));
    threads_left = started;
    tbq::Store store(options);
    store.set_files({"a", "b"}, {{file.path(), 0}, {file.path(), 1}});
    CHECK(store.poll()->added.scalar_rows() == want.scalar_rows() && want.scalar_rows() > 0);
  }
  threads_left = -1;
}
#endif

TEST(a_crew_ends_its_threads_whichever_allocation_fails) {
  fail_each([&] {
    std::atomic<int> done[50] = {};
    tbq::Crew crew;
    bool failed = false;
    try {
      crew.run(50, 3, [&](unsigned, size_t job) { ++done[job]; });
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    for (const auto& count : done) CHECK(count == 1 || (failed && count == 0));
    return failed;
  });
}

TEST(a_stream_reports_every_failed_allocation) {
  const tbq::MemoryFile file(log_of_every_path());
  for (const std::string& name : tbq::table_names()) {
    if (name != "histograms" && name != "texts") continue;
    const tbq::Result result = tbq::decode({{file.path(), 0}}, all_kinds());
    ArrowArrayStream stream{};
    fail_each([&] {
      try {
        tbq::export_table(result, *tbq::table_kind(name), {"run"}, nullptr, nullptr,
                          std::make_shared<tbq::ValueProblems>(), &stream);
      } catch (const std::bad_alloc&) {
        CHECK(!stream.release);
        return true;
      }
      const bool failed = !drained(stream);
      stream.release(&stream);
      return failed;
    });
  }
}

TEST(scalars_report_every_failed_allocation) {
  const tbq::MemoryFile file(log_of_every_path());
  fail_each([&] {
    const int64_t left = std::exchange(allocations_left, -1);
    tbq::Result result = tbq::decode({{file.path(), 0}}, all_kinds());
    ArrowArrayStream stream{};
    allocations_left = left;
    try {
      tbq::export_scalars(result, result.scalars, {"run"}, &stream);
    } catch (const std::bad_alloc&) {
      CHECK(!stream.release);
      return true;
    }
    const bool failed = !drained(stream);
    stream.release(&stream);
    return failed;
  });
}

TEST(decode_throws_whichever_allocation_fails) {
  const tbq::MemoryFile file(log_of_every_path());
  fail_each([&] {
    try {
      tbq::decode({{file.path(), 0}}, all_kinds());
    } catch (const std::bad_alloc&) {
      return true;
    }
    return false;
  });
}

// Scalars by step and value, and how often each was delivered and not retracted.
using RowCounts = std::map<std::pair<int64_t, double>, int>;

void add_update(RowCounts& delivered, const tbq::Update& update) {
  for (const tbq::RetractedRow& row : update.retracted) {
    if (row.kind == tbq::Kind::scalars && --delivered[{row.step, row.value}] == 0)
      delivered.erase({row.step, row.value});
  }
  for (const tbq::ScalarBatch& batch : update.added.scalars) {
    size_t rows = 0;
    for (const auto& stretch : batch.stretches) rows += stretch.rows;
    for (size_t i = 0; i < rows; ++i) ++delivered[{batch.steps[i], batch.values[i]}];
  }
}

TEST(a_poll_returns_each_row_once_whichever_allocation_fails) {
  using namespace bytes;
  const auto scalars = [](int first, int last, double wall) {
    std::string records = record(version(wall));
    for (int step = first; step < last; ++step)
      records += record(scalar("loss", step, static_cast<float>(step), wall + step));
    return records;
  };
  tbq::DecodeOptions options;
  options.kinds = tbq::kEveryKind;
  const std::string before = scalars(0, 4, 1e9);
  for (int change = 0; change < 5; ++change) {
    const TestFile first(before), second(scalars(3, 6, 5e8)), third(scalars(0, 2, 1e9));
    fail_each([&] {
      const int64_t left = std::exchange(allocations_left, -1);
      first.write(before);
      second.write(scalars(3, 6, 5e8));
      RowCounts delivered;
      tbq::Store store(options);
      const auto poll = [&] {
        const std::shared_ptr<tbq::Update> update = store.poll(true, UINT64_MAX, true);
        const int64_t later = std::exchange(allocations_left, -1);
        add_update(delivered, *update);
        store.received(*update);
        allocations_left = later;
      };
      std::vector<std::string> runs{"a", "b"};
      std::vector<tbq::FileSpec> files{{first.path(), 0}, {second.path(), 0}, {third.path(), 1}};
      store.set_files(runs, files);
      poll();
      for (int more = 0; more < (change == 0 ? 4 : 1); ++more) {  // the last append merges parts
        if (more > 0) poll();
        switch (change) {
          case 0:
            first.write(before + scalars(20, 21 + more, 2e9));
            break;
          case 1:  // a restart replaces rows
            second.write(scalars(3, 6, 5e8) + scalars(1, 3, 3e9));
            break;
          case 2:  // another file, with damage
            first.write(scalars(2, 4, 7e8) + std::string(50, 'x') + scalars(4, 6, 8e8));
            break;
          case 3:  // first a file, then a run, is gone
            files.erase(files.begin());
            break;
          case 4:
            runs.pop_back();
            files.pop_back();
            break;
        }
      }
      bool failed = false;
      allocations_left = left;
      try {
        store.set_files(runs, files);
        poll();
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      const int64_t rest = std::exchange(allocations_left, -1);
      store.set_files(runs, files);
      poll();
      RowCounts want;
      tbq::Update all;
      all.added = store.everything(tbq::kEveryKind);
      add_update(want, all);
      CHECK(delivered == want && !want.empty());
      allocations_left = rest;
      return failed;
    });
  }
}

TEST(no_exception_leaves_a_callback) {
  const auto failing = [](auto&& failure) {
    ArrowArrayStream stream{};
    tbq::export_lazy({}, [&](tbq::Batch&) -> bool { throw failure; }, &stream);
    ArrowArray array;
    const int error = stream.get_next(&stream, &array);
    CHECK(error != 0 && !array.release);
    CHECK(stream.get_next(&stream, &array) == error && !array.release);  // and the stream stays ended
    const std::string message = stream.get_last_error(&stream);
    stream.release(&stream);
    return std::pair(error, message);
  };
  CHECK(failing(std::runtime_error("the disk is gone")) == std::pair(EIO, std::string("the disk is gone")));
  CHECK(failing(std::runtime_error(std::string(999, 'x'))).second == std::string(255, 'x'));
  CHECK(failing(std::bad_alloc()) == std::pair(ENOMEM, std::string("out of memory")));
  CHECK(failing(42).first == EIO);
  ArrowArrayStream sound{};
  tbq::export_lazy({}, [](tbq::Batch&) { return false; }, &sound);
  CHECK(sound.get_last_error(&sound) == nullptr);
  sound.release(&sound);
}

// An event is walked in portions, and its values take no memory each.
TEST(empty_values_take_no_memory) {
  using namespace bytes;
  for (const std::string& value : {std::string(), message(1, "a"), message(1, "a") + fixed(9, 0.5F)}) {
    std::string summary;
    for (int i = 0; i < 300000; ++i) summary += message(1, value);
    const tbq::MemoryFile file(record(version(1e9)) + record(event(1e9, 1, message(5, summary))));
    tbq::DecodeOptions options = all_kinds();
    options.kinds = tbq::bit(tbq::Kind::scalars);
    const size_t before = allocated;
    const tbq::Result result = tbq::decode({{file.path(), 0}}, options);
    CHECK(result.files[0].records == 2 && result.files[0].steps.count == 300000);
    CHECK(allocated - before < 2 * file.content().size() + (size_t{4} << 20));
  }
}
