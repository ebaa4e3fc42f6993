// Fuzzes bytes as one event payload, as metadata and as text.

#include "bytes/utf8.hpp"
#include "decode/restarts.hpp"
#include "event/event.hpp"
#include "event/fields.hpp"
#include "event/metadata.hpp"
#include "event/scalar_tensor.hpp"
#include "fuzz/fuzz.hpp"
#include "io/memory_file.hpp"
#include "tables/arrow.hpp"

namespace {

using tbq::Bytes;

bool within(tbq::Range range, size_t size) {
  return range.offset <= size && range.length <= size - range.offset;
}

void try_fields(Bytes input) {
  tbq::Cursor cursor(input);
  tbq::Field field;
  while (!cursor.empty()) {
    const size_t left = cursor.left();
    if (!cursor.field(field)) {
      REQUIRE(cursor.left() == left);  // a failed read does not move the cursor
      break;
    }
    REQUIRE(cursor.left() < left);
    REQUIRE(field.bytes.size() <= input.size());
  }
}

bool same(tbq::Range a, tbq::Range b) { return a.offset == b.offset && a.length == b.length; }

// Walks the same event in a file, through a window of a few bytes.
void try_file(Bytes input, bool valid, const tbq::EventRef& want) {
  const tbq::MemoryFile memory(std::string(tbq::as_text(input)));
  tbq::File file;
  REQUIRE(file.open(memory.path()) == 0);
  tbq::BlockReader reader(16);
  reader.reset(&file, file.size());
  tbq::FileSource source(reader, 0, input.size());
  tbq::EventRef event;
  event.most = 1 + input.size() % 3;  // in small portions, twice
  REQUIRE(tbq::walk_event(source, event) == valid && event.values.size() <= event.most);
  std::vector<tbq::ValueRef> values;
  for (int i = 0; i < 2; ++i) {
    values.clear();
    tbq::each_value(source, event, [&](const tbq::ValueRef& value) { values.push_back(value); });
    REQUIRE(values.size() == want.values.size());
  }
  REQUIRE(event.step == want.step && event.session_start == want.session_start &&
          event.strange == want.strange);
  REQUIRE(same(event.file_version, want.file_version) && same(event.writer, want.writer));
  REQUIRE(event.wall_time == want.wall_time || event.wall_time != event.wall_time);
  for (size_t i = 0; i < values.size(); ++i) {
    const tbq::ValueRef& a = values[i];
    const tbq::ValueRef& b = want.values[i];
    REQUIRE(a.field == b.field && a.has_metadata == b.has_metadata && a.end == b.end);
    REQUIRE(same(a.tag, b.tag) && same(a.payload, b.payload) && same(a.metadata, b.metadata));
  }
}

void try_event(Bytes input) {
  tbq::EventRef event;
  tbq::MemorySource source(input);
  const bool valid = tbq::walk_event(source, event);
  try_file(input, valid, event);
  REQUIRE(within(event.file_version, input.size()));
  REQUIRE(within(event.writer, input.size()));
  for (const tbq::ValueRef& value : event.values) {
    REQUIRE(within(value.tag, input.size()) && within(value.payload, input.size()));
    REQUIRE(within(value.metadata, input.size()) && value.end <= input.size());
    tbq::TagMetadata metadata;
    tbq::parse_metadata(input.subspan(value.metadata.offset, value.metadata.length), metadata);
    const auto kind = static_cast<size_t>(tbq::kind_of(value.field, metadata.plugin));
    REQUIRE(kind < tbq::kKindCount);
  }
}

void try_text(Bytes input) {
  const std::string fixed = tbq::valid_utf8(tbq::as_text(input));
  REQUIRE(tbq::is_valid_utf8(fixed));
  REQUIRE(tbq::valid_utf8(fixed) == fixed);
  REQUIRE(tbq::is_valid_utf8(tbq::as_text(input)) == (fixed == tbq::as_text(input)));
  const auto first = tbq::as_text(input.first(input.size() / 2));
  const auto second = tbq::as_text(input.subspan(input.size() / 2));
  REQUIRE(!(tbq::natural_less(first, second) && tbq::natural_less(second, first)));
  REQUIRE(first == second || tbq::natural_less(first, second) || tbq::natural_less(second, first));
}

const bool added = [] {
  using namespace bytes;
  auto& all = seeds();
  all.push_back(version(1e9));
  all.push_back(scalar("loss", 7, 0.5F));
  all.push_back(scalar("loss", -1, 0.5F));
  all.push_back(
      event(1e9, 3, summary(message(1, "acc") + message(8, tensor(2, of(0.25))) + metadata("scalars"))));
  all.push_back(tensor(1, of(1.5F)));
  all.push_back(number(1, 1) + message(5, of(1.5F)) + fixed(5, 2.5F));
  all.push_back(number(1, 19) + message(2, message(2, number(1, 1))) + message(13, varint(0x3c00)));
  all.push_back(number(1, 9) + message(10, varint(~0ULL)) + number(10, 5));
  all.push_back(message(1, message(1, "scalars") + message(2, "content")) + message(2, "name") +
                number(4, 1));
  all.push_back(event(1e9, 1, message(7, number(1, 1)) + message(8, message(1, "run") + message(2, "data"))));
  all.push_back("\x9b\x06\x08\x01\x9c\x06\x93\x01\x94\x01");  // groups
  all.push_back("a10b2 a9b \xff\xe2\x82\xac\xed\xa0\x80");
  return true;
}();

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes input(data, size);
  try_fields(input);
  try_event(input);
  try_text(input);
  tbq::TagMetadata metadata;
  tbq::parse_metadata(input, metadata);
  return 0;
}
