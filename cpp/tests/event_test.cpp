// Tests the walk of events and tensors with one number.
#include "event/event.hpp"

#include <cmath>
#include <limits>

#include "event/metadata.hpp"
#include "event/scalar_tensor.hpp"
#include "io/memory_file.hpp"
#include "tests/bytes.hpp"
#include "tests/check.hpp"

namespace {

bool walk(const std::string& payload, tbq::EventRef& out) {
  out.clear();
  tbq::MemorySource source(bytes::view(payload));
  return tbq::walk_event(source, out);
}

std::string_view part(const std::string& payload, tbq::Range range) {
  return std::string_view(payload).substr(range.offset, range.length);
}

}  // namespace

TEST(the_walk_finds_the_values_of_an_event) {
  const std::string tensor = bytes::tensor(1, bytes::of(2.5F));
  const std::string payload = bytes::event(
      5.5, -3,
      bytes::message(5, bytes::message(1, bytes::message(1, "a") + bytes::fixed(2, 0.5F)) +
                            bytes::message(1, bytes::metadata("scalars") + bytes::message(8, tensor) +
                                                  bytes::message(1, "b"))));
  tbq::EventRef event;
  CHECK(walk(payload, event));
  CHECK(event.wall_time == 5.5 && event.step == -3 && event.values.size() == 2);
  CHECK(event.values[0].field == tbq::ValueField::simple_value && event.values[0].scalar == 0.5F);
  CHECK(part(payload, event.values[0].tag) == "a" && !event.values[0].has_metadata);
  CHECK(event.values[1].field == tbq::ValueField::tensor && part(payload, event.values[1].payload) == tensor);
  CHECK(part(payload, event.values[1].tag) == "b" && event.values[1].has_metadata);
  CHECK(event.values[1].end == payload.size());
}

TEST(the_last_field_of_a_oneof_counts) {
  tbq::EventRef event;
  CHECK(walk(bytes::summary(bytes::fixed(2, 0.5F) + bytes::message(8, "")), event));
  CHECK(event.values[0].field == tbq::ValueField::tensor);
  CHECK(walk(bytes::summary(bytes::message(4, "image") + bytes::fixed(2, 0.5F)), event));
  CHECK(event.values[0].field == tbq::ValueField::simple_value && event.values[0].payload.length == 0);
}

TEST(fields_of_the_wrong_type_are_unknown_fields) {
  tbq::EventRef event;
  CHECK(
      walk(bytes::number(1, 5) + bytes::fixed(2, 1.0F) + bytes::number(5, 7) + bytes::fixed(3, 1.0), event));
  CHECK(event.wall_time == 0 && event.step == 0 && event.values.empty() && !event.has_file_version);
}

TEST(a_malformed_event_keeps_what_came_before) {
  tbq::EventRef event;
  CHECK(!walk(bytes::scalar("a", 3, 1.0F) + "\x2a\x7f", event));
  CHECK(event.values.size() == 1 && event.step == 3);
  CHECK(!walk(bytes::event(1, 3, bytes::summary("\x0a\x05zz")), event));
  CHECK(event.values.empty());
}

TEST(a_session_log_starts_a_session_only_when_it_says_so) {
  tbq::EventRef event;
  CHECK(walk(bytes::event(1, 9, bytes::message(7, bytes::number(1, 1))), event) && event.session_start);
  CHECK(walk(bytes::event(1, 9, bytes::message(7, bytes::number(1, 2))), event) && !event.session_start);
  CHECK(walk(bytes::event(1, 9, bytes::message(7, "")), event) && !event.session_start);
  const std::string written = bytes::event(1, 0, bytes::message(10, bytes::message(1, "writer")));
  CHECK(walk(written, event) && part(written, event.writer) == "writer");
}

TEST(metadata_is_read_or_refused) {
  tbq::TagMetadata metadata;
  const std::string held = bytes::message(1, bytes::message(1, "text") + bytes::message(2, "content")) +
                           bytes::message(2, "name") + bytes::message(3, "words") + bytes::number(4, 2);
  CHECK(tbq::parse_metadata(bytes::view(held), metadata));
  CHECK(metadata.plugin == "text" && metadata.display_name == "name" && metadata.description == "words");
  CHECK(metadata.data_class == 2);
  CHECK(!tbq::parse_metadata(bytes::view(held.substr(0, held.size() - 1)), metadata));
}

TEST(a_tensor_of_one_number_is_a_scalar) {
  const auto value = [](const std::string& tensor) { return tbq::scalar_of_tensor(bytes::view(tensor)); };
  CHECK(value(bytes::tensor(2, bytes::of(0.1))).value == 0.1);
  CHECK(value(bytes::number(1, 1)).valid && value(bytes::number(1, 1)).value == 0);  // an empty list is zeros
  CHECK(value(bytes::number(1, 101) + bytes::message(5, bytes::of(2.0F))).value == 2.0);  // a _REF dtype
  CHECK(value(bytes::number(1, 19) + bytes::message(13, bytes::varint(0x3f800000))).value ==
        1.0);  // torch's halves
  CHECK(value(bytes::number(1, 19) + bytes::number(13, 0x0001)).value == std::ldexp(1, -24));
  CHECK(std::isnan(value(bytes::tensor(19, bytes::of(uint16_t{0x7e00}))).value));
  CHECK(value(bytes::tensor(9, bytes::of((int64_t{1} << 53) + 1))).rounded);
  CHECK(value(bytes::tensor(9, bytes::of(std::numeric_limits<int64_t>::max()))).rounded);
  CHECK(!value(bytes::tensor(9, bytes::of(std::numeric_limits<int64_t>::min()))).rounded);
  CHECK(value(bytes::tensor(23, bytes::of(~uint64_t{0}))).rounded);
  CHECK(!value(bytes::tensor(7, "text")).valid);
  CHECK(!value(bytes::tensor(1, "12345")).valid);
  CHECK(!value(bytes::number(1, 1) + bytes::message(2, bytes::message(2, bytes::number(1, 2)))).valid);
  CHECK(!value(bytes::number(1, 1) + bytes::message(2, bytes::number(3, 1))).valid);  // unknown rank
  CHECK(!value("\x08").valid);
  const std::string mixed = bytes::number(1, 1) + bytes::message(5, bytes::of(1.0F)) + bytes::fixed(5, 4.0F);
  CHECK(!value(mixed).valid && !value(mixed).slot);                       // two numbers instead of one
  CHECK(value(bytes::number(1, 1) + bytes::number(7, 5)).value == 0);     // a list of another dtype
  CHECK(value(bytes::number(1, 6) + bytes::number(7, 300)).value == 44);  // int8 keeps its low bits
  CHECK(!value(bytes::number(1, 1) + bytes::message(5, "12345")).valid);
}

TEST(a_group_is_skipped_however_long_it_is) {
  // In memory and in a file, next to 2 MiB: inside the group, and after it.
  const std::string much(size_t{2} << 20, 'x');
  const auto with_group = [](const std::string& inside) {
    return std::string("\xfb\x07") + inside + "\xfc\x07";  // field 127
  };
  const std::string rest =
      bytes::event(5.5, 3, bytes::summary(bytes::message(1, "a") + bytes::fixed(2, 0.5F)));
  const std::string unknown = bytes::message(100, much);
  for (const std::string& payload :
       {with_group(unknown) + rest, with_group(with_group(bytes::number(1, 7U))) + unknown + rest,
        rest + with_group(unknown)}) {
    tbq::EventRef event;
    CHECK(walk(payload, event) && event.step == 3 && event.values.size() == 1);
    const tbq::MemoryFile memory(payload);
    tbq::File file;
    CHECK(file.open(memory.path()) == 0);
    tbq::BlockReader reader;
    reader.reset(&file, file.size());
    tbq::FileSource source(reader, 0, file.size());
    event.clear();
    CHECK(tbq::walk_event(source, event) && event.step == 3 && event.values.size() == 1);
    tbq::Cursor cursor(bytes::view(payload));
    size_t fields = 0;
    for (tbq::Field field; cursor.field(field);) ++fields;
    CHECK(cursor.empty() && fields > 3);
  }
  // Both walks must agree on what is malformed.
  for (const std::string& wrong :
       {std::string("\xfb\x07"), with_group(std::string("\x00\x01", 2)), with_group("\x0c"),
        std::string("\xfb\x07\x0c"), std::string("\xfc\x07"), with_group("\x0e")}) {
    tbq::EventRef event;
    tbq::Field field;
    CHECK(!walk(wrong, event));
    CHECK(!tbq::Cursor(bytes::view(wrong)).field(field));
  }
}
