// Tests that a followed file that is, becomes or looks compressed has the rows of a fresh decode.
#include <atomic>
#include <fstream>
#include <iterator>
#include <mutex>

#include "decode/file_opener.hpp"
#include "tests/live_logs.hpp"

namespace {

constexpr std::string_view kHead = "\x1f\x8b\x08 not a record";
constexpr std::string_view kZlibHead = "\x58\x85\x08 not a record";  // with a window of 8 KiB
static_assert(kZlibHead.size() == kHead.size());

constexpr size_t kStored = 1000;
constexpr size_t kBlockHead = 5;

// A stand-in for gzip without compression: most records can be found in its blocks, but not all.
std::string packed(const std::string& data, std::string_view head = kHead) {
  std::string out(head);
  for (size_t at = 0; at < data.size(); at += kStored)
    out += std::string(kBlockHead, '\x55') + data.substr(at, kStored);
  return out;
}

std::string unpacked(const std::string& data) {
  std::string out;
  for (size_t at = kHead.size(); at < data.size(); at += kBlockHead + kStored)
    out += data.substr(at + kBlockHead, kStored);
  return out;
}

// Follows with a function that unpacks such files. Must outlive what follows with its options.
struct Unpacker {
  std::vector<std::unique_ptr<TestFile>> made;
  std::mutex mutex;
  std::atomic<int> asked_for = 0;

  tbq::DecodeOptions options() {
    tbq::DecodeOptions asked = ::options();
    asked.kinds = tbq::kEveryKind;
    asked.inflate = [this](const std::string& path) -> std::string {
      ++asked_for;
      std::ifstream file(path, std::ios::binary);
      const std::string data{std::istreambuf_iterator<char>(file), {}};
      if (!data.starts_with(kHead) && !data.starts_with(kZlibHead)) return "";
      const std::lock_guard lock(mutex);
      made.push_back(std::make_unique<TestFile>(unpacked(data)));
      return made.back()->path();
    };
    return asked;
  }
};

}  // namespace

TEST(a_compressed_file_is_followed_as_it_is_read) {
  for (const uint64_t split : {uint64_t{200}, uint64_t{16} << 20}) {
    for (const auto& [head, most] :
         {std::pair{kHead, uint64_t{100}}, {kHead, UINT64_MAX}, {kZlibHead, UINT64_MAX}}) {
      Unpacker unpacker;
      tbq::DecodeOptions asked = unpacker.options();
      asked.split = split;  // a large plain file would be decoded in pieces
      TestFile file(packed(log(0, 300, 10), head));
      Following following(asked);
      CHECK(following.poll({"a"}, {{file.path(), 0}}, most) == std::vector{FileChange::added});
      CHECK(following.poll({"a"}, {{file.path(), 0}}, most).empty());
      // It grows in place, and its content is another: its first and last bytes are not evidence.
      file.write(packed(log(0, 150, 10) + more(550, 600, 10) + more(200, 310, 10), head));
      CHECK(following.poll({"a"}, {{file.path(), 0}}, most).size() == 1);
      CHECK(following.retracted == 300);
      CHECK(following.poll({"a"}, {{file.path(), 0}}, most).empty());
    }
  }
}

TEST(a_file_becomes_compressed_and_plain_again) {
  for (const uint64_t split : {uint64_t{200}, uint64_t{16} << 20}) {
    Unpacker unpacker;
    tbq::DecodeOptions asked = unpacker.options();
    asked.split = split;
    TestFile file(log(0, 200, 10));
    Following following(asked);
    const auto poll = [&](const std::string& data) {
      file.write(data);
      CHECK(following.poll({"a"}, {{file.path(), 0}}).size() == 1);
      CHECK(following.poll({"a"}, {{file.path(), 0}}).empty());
    };
    CHECK(following.poll({"a"}, {{file.path(), 0}}).size() == 1);
    poll(packed(log(0, 200, 10)));  // a little longer than before
    poll(packed(log(0, 200, 10) + more(200, 220, 10)));
    poll(log(0, 200, 10) + more(200, 400, 10));  // longer again, and plain
    poll(packed(log(0, 20, 10)));                // shorter
    poll(std::string(kHead.substr(0, 5)));       // too short for a record: more may come
    poll(packed(log(5, 30, 10)));
    poll("");
    poll(packed(log(6, 30, 10)));
  }
}

TEST(a_record_whose_length_looks_like_gzip_is_a_record) {
  using namespace bytes;
  Unpacker unpacker;
  const std::string start = event(10, 0, message(3, "brain.Event:2"));
  const size_t size = 0x8b1f;  // in the file: 1f 8b 00 …
  const std::string first = record(start + message(15, std::string(size - start.size() - 4, 'x')));
  CHECK(tbq::looks_compressed(view(first)));
  TestFile file(first + more(0, 20, 10));
  Following following(unpacker.options());
  CHECK(following.poll({"a"}, {{file.path(), 0}}) == std::vector{FileChange::added});
  file.write(first + more(0, 30, 10));
  CHECK(following.poll({"a"}, {{file.path(), 0}}) == std::vector{FileChange::grown});
  CHECK(following.retracted == 0 && unpacker.asked_for == 0);
}

TEST(a_compressed_file_is_decoded_again_when_a_plugin_becomes_known) {
  using namespace bytes;
  const auto tensor = [](double wall, int64_t step, const std::string& rest) {
    return record(
        event(wall, step, summary(message(1, "late") + message(8, bytes::tensor(1, of(0.5F))) + rest)));
  };
  Unpacker unpacker;
  const TestFile first(packed(record(version(10)) + tensor(11, 1, "")));
  const TestFile second(record(version(20)) + tensor(21, 2, metadata("scalars")));
  tbq::Store store(unpacker.options());
  store.set_files({"a"}, {{first.path(), 0}});
  CHECK(next_update(store)->added.scalar_rows() == 0);
  store.set_files({"a"}, {{first.path(), 0}, {second.path(), 0}});
  CHECK(next_update(store)->added.scalar_rows() == 2);
  CHECK(store.everything(tbq::kEveryKind).scalar_rows() == 2);
}
