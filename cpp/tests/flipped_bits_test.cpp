// Flips each bit of a large record: whatever is asked for, its row is still returned, or the damage is
// reported.
#include <algorithm>
#include <vector>

#include "decode/decode.hpp"
#include "fuzz/rows.hpp"
#include "io/memory_file.hpp"
#include "record/framing.hpp"
#include "tests/bytes.hpp"
#include "tests/check.hpp"

namespace {

using namespace bytes;

struct Log {
  std::string bytes = record(version(1e9));
  std::vector<std::pair<size_t, size_t>> large;  // the positions of records over 4 KiB
  int64_t step = 0;

  void add(std::string_view rest) {
    const std::string framed = record(event(1e9, ++step, rest));
    if (framed.size() > tbq::kLargeRecord + tbq::kOverhead) large.emplace_back(bytes.size(), framed.size());
    bytes += framed;
  }
};

constexpr size_t kSmall = 8;
constexpr size_t kLarge = 4200;

std::string image(std::string_view tag, size_t size) {
  const std::string pixels(size, 'x');
  return message(1, message(1, tag) + message(4, number(1, 5) + number(2, 7) + message(4, pixels)));
}
std::string histogram(std::string_view tag, size_t size) {
  return message(1, message(1, tag) + message(5, fixed(1, 0.5) + message(6, std::string(size, '\0'))));
}
std::string audio(std::string_view tag, size_t size) {
  return message(1, message(1, tag) + message(6, fixed(1, 8000.0F) + message(4, std::string(size, 'x'))));
}
std::string strings(std::string_view tag, size_t size, std::string_view plugin) {
  const std::string held =
      number(1, 7) + message(2, message(2, number(1, 1))) + message(8, std::string(size, 'x'));
  return message(1, message(1, tag) + message(8, held) + (plugin.empty() ? "" : metadata(plugin)));
}
std::string number_of(std::string_view tag) { return message(1, message(1, tag) + fixed(2, 0.5F)); }

// Every way of writing a value that may be large, with names that are one bit apart. Tensors carry their
// plugin only if `first` is set.
std::vector<std::string> forms(size_t size, bool first) {
  return {message(5, image("i/0", size)),
          message(5, image("i/1", size)),
          message(5, histogram("h/0", size)),
          message(5, audio("s/0", size)),
          message(4, message(1, message(1, "node") + message(5, std::string(size, 'x')))),
          message(8, message(1, "r/0") + message(2, std::string(size, 'x'))),
          message(6, number(1, 20) + message(2, std::string(size, 'x'))),
          message(5, strings("t/0", size, "text")),
          message(5, strings("t/1", size, "images")),
          message(5, strings("t/2", size, first ? "text" : "")),
          message(5, strings("t/3", size, first ? "images" : "")),
          message(5, number_of("loss") + image("i/0", size) + number_of("acc") + histogram("h/0", size)),
          message(5, image("mixed", size)),
          message(5, histogram("mixed", size))};
}

tbq::DecodeOptions asked(tbq::Kinds kinds) {
  tbq::DecodeOptions options;
  options.in_place = true;
  options.skippable = 0;
  options.kinds = kinds;
  return options;
}

bool is_told(const tbq::Result& result) { return !result.files[0].faults.empty(); }

// Decodes the log with a bit of `record` flipped; wants the rows of `sound`, or a fault.
void check_flip(const Log& log, size_t offset, int bit, const tbq::DecodeOptions& options,
                const Rows& sound) {
  std::string content = log.bytes;
  content[offset] = static_cast<char>(content[offset] ^ 1 << bit);
  const tbq::MemoryFile file(content);
  const tbq::Result result = tbq::decode({{file.path(), 0}}, options);
  CHECK(is_told(result) || rows_of(result, file) == sound);
}

void check_flips(const Log& log, const tbq::DecodeOptions& options) {
  const tbq::MemoryFile file(log.bytes);
  const Rows sound = rows_of(tbq::decode({{file.path(), 0}}, options), file);
  for (const auto& [begin, size] : log.large) {
    for (size_t at = 21; at < 44; ++at) {  // from the step into the payload
      for (int bit = 0; bit < 8; ++bit) check_flip(log, begin + at, bit, options, sound);
    }
    check_flip(log, begin + 12, 1, options, sound);
    check_flip(log, begin + size - 2, 3, options, sound);
  }
}

// Each form once as a large record, after small records that introduce all tags.
void check_forms(const tbq::DecodeOptions& options) {
  for (const std::string& form : forms(kLarge, false)) {
    Log log;
    for (const std::string& known : forms(kSmall, true)) log.add(known);
    log.add(form);
    log.add(message(5, number_of("loss")));
    CHECK(log.large.size() == 1);
    check_flips(log, options);
  }
}

}  // namespace

TEST(a_flipped_bit_hides_no_row_of_one_kind_without_a_report) {
  for (const tbq::Kind kind : {tbq::Kind::scalars, tbq::Kind::images}) check_forms(asked(tbq::bit(kind)));
}

TEST(a_flipped_bit_hides_no_row_of_one_tag_without_a_report) {
  tbq::DecodeOptions options = asked(tbq::bit(tbq::Kind::images));
  options.select = [](uint32_t, std::string_view tag) { return tag == "i/1" || tag == "t/1"; };
  check_forms(options);
}

// The first record of a tag, and a record of a tag whose other values have another kind.
TEST(no_record_is_skipped_before_its_tag_is_known) {
  Log log;
  log.add(message(5, number_of("loss")));
  log.add(message(5, histogram("h", kSmall)));
  log.add(message(5, image("h", kLarge)));
  log.add(message(5, image("i", kLarge)));
  log.add(message(5, strings("t", kSmall, "text")));  // begins like an image
  log.add(message(5, image("t", kLarge)));
  log.add(message(5, number_of("loss")));
  check_flips(log, asked(tbq::bit(tbq::Kind::images)));
}

// A part knows what the parts before it know.
TEST(parts_report_the_same_damage_as_the_entire_file) {
  Log log;
  for (int round = 0; round < 2; ++round) {
    for (const std::string& form : forms(kLarge, round == 0)) log.add(form);
  }
  for (const tbq::Kind kind : {tbq::Kind::scalars, tbq::Kind::images, tbq::Kind::histograms}) {
    for (const auto& [begin, size] : log.large) {
      std::string content = log.bytes;
      content[begin + size / 2] ^= 4;
      const tbq::MemoryFile file(content);
      tbq::DecodeOptions options = asked(tbq::bit(kind));
      const tbq::Result at_once = tbq::decode({{file.path(), 0}}, options);
      options.threads = 4;
      options.split = 1;
      const tbq::Result parts = tbq::decode({{file.path(), 0}}, options);
      CHECK(rows_of(parts, file) == rows_of(at_once, file));
      CHECK(std::ranges::equal(parts.files[0].faults, at_once.files[0].faults, {}, &tbq::Fault::offset,
                               &tbq::Fault::offset));
    }
  }
}

// The first metadata of a tag counts, also in parts that begin after it.
TEST(parts_report_the_same_damage_if_the_metadata_of_a_tag_changes) {
  Log log;
  log.add(message(5, strings("t", kSmall, "text")));
  for (int i = 0; i < 12; ++i) log.add(message(5, strings("t", i % 2 == 0 ? kSmall : kLarge, "images")));
  tbq::DecodeOptions options = asked(tbq::bit(tbq::Kind::scalars));
  for (const auto& [begin, size] : log.large) {
    std::string content = log.bytes;
    content[begin + size / 2] ^= 4;
    const tbq::MemoryFile file(content);
    for (options.threads = 1; options.threads < 6; ++options.threads) {
      options.split = options.threads == 1 ? content.size() : 1;
      const tbq::Result result = tbq::decode({{file.path(), 0}}, options);
      CHECK(result.files[0].faults.size() == 1 && result.files[0].faults[0].offset == begin);
    }
  }
}

// All of them are skipped, except the first record of a tag.
TEST(records_of_known_unwanted_tags_are_not_read) {
  Log log;
  for (int i = 0; i < 50; ++i) log.add(message(5, image("i", 20000) + histogram("h", 20000)));
  log.add(message(5, number_of("loss")));
  const tbq::MemoryFile file(log.bytes);
  tbq::DecodeOptions options = asked(tbq::bit(tbq::Kind::scalars));
  options.block = 512;
  const tbq::Result result = tbq::decode({{file.path(), 0}}, options);
  CHECK(result.files[0].records == 2 && result.files[0].bytes_read < log.bytes.size() / 2);
}

TEST(records_up_to_the_limit_are_read) {
  const auto image_in = [](size_t record) {
    size_t size = record;
    while (event(1e9, 1, message(5, image("i", size))).size() > record) --size;
    return message(5, image("i", size));
  };
  for (const size_t over : {0U, 1U}) {
    Log log;
    for (int i = 0; i < 5; ++i) log.add(image_in(tbq::kSkippable + over));
    CHECK(log.large.size() == 5 && log.large[0].second == tbq::kSkippable + over + tbq::kOverhead);
    tbq::DecodeOptions options;
    options.kinds = tbq::bit(tbq::Kind::scalars);
    for (const bool general_only : {false, true}) {
      options.general_only = general_only;
      std::string content = log.bytes;
      content[log.large[3].first + 9000] ^= 4;
      const tbq::MemoryFile file(content);
      const tbq::Result result = tbq::decode({{file.path(), 0}}, options);
      CHECK(result.files[0].records == (over == 0 ? 5 : 1));
      CHECK(is_told(result) == (over == 0));
    }
  }
}
