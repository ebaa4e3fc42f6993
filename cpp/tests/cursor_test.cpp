// Tests the checked cursor.
#include "bytes/cursor.hpp"

#include <memory>

#include "tests/bytes.hpp"
#include "tests/check.hpp"

namespace {

using tbq::Cursor;
using tbq::Field;
using tbq::Wire;

// Bytes in a heap buffer of exactly their size, so that the sanitizer sees a read past them.
struct Exact {
  explicit Exact(const std::string& from) : data(new uint8_t[from.size()]), size(from.size()) {
    std::memcpy(data.get(), from.data(), size);
  }
  tbq::Bytes bytes() const { return {data.get(), size}; }
  std::unique_ptr<uint8_t[]> data;
  size_t size;
};

}  // namespace

TEST(cursor_reads_varints_of_every_length) {
  for (unsigned bits = 0; bits < 64; ++bits) {
    for (const uint64_t want : {uint64_t{1} << bits, (uint64_t{1} << bits) - 1, ~uint64_t{0} >> bits}) {
      const Exact held(bytes::varint(want));
      Cursor cursor(held.bytes());
      uint64_t got = 7;
      CHECK(cursor.varint(got) && got == want && cursor.empty());
      Cursor cut(held.bytes().first(held.size - 1));
      CHECK(!cut.varint(got) && cut.left() == held.size - 1);
    }
  }
}

TEST(cursor_refuses_a_varint_of_eleven_bytes) {
  const Exact held(std::string(10, '\xff') + std::string(1, '\1'));
  Cursor cursor(held.bytes());
  uint64_t got;
  CHECK(!cursor.varint(got));
  CHECK(cursor.left() == 11);
}

TEST(cursor_does_not_move_when_bytes_are_missing) {
  const std::string fields = bytes::message(3, "abc") + bytes::fixed(1, 2.5) + bytes::fixed(2, 1.5F) +
                             bytes::number(5, 1000) + "\x9b\x06\x08\x01\x9c\x06";
  for (size_t size = 0; size < fields.size(); ++size) {
    const Exact held(fields.substr(0, size));
    Cursor cursor(held.bytes());
    Field field;
    size_t left = cursor.left();
    while (cursor.field(field)) left = cursor.left();
    CHECK(cursor.left() == left);
  }
  const Exact held(fields);
  Cursor cursor(held.bytes());
  Field field;
  CHECK(cursor.field(field) && field.is(3, Wire::bytes) && tbq::as_text(field.bytes) == "abc");
  CHECK(cursor.field(field) && field.is(1, Wire::fixed64) && field.as_double() == 2.5);
  CHECK(cursor.field(field) && field.is(2, Wire::fixed32) && field.as_float() == 1.5F);
  CHECK(cursor.field(field) && field.is(5, Wire::varint) && field.value == 1000);
  CHECK(cursor.field(field) && field.is(99, Wire::group) && cursor.empty());
  CHECK(!cursor.field(field));
}

TEST(cursor_refuses_lengths_past_the_end) {
  for (const uint64_t length : {uint64_t{4}, uint64_t{1} << 32, uint64_t{1} << 63, ~uint64_t{0}}) {
    const Exact held("\x0a" + bytes::varint(length) + "abc");
    Cursor cursor(held.bytes());
    Field field;
    CHECK(!cursor.field(field) && cursor.left() == held.size);
  }
  Cursor empty;
  tbq::Bytes out;
  CHECK(empty.bytes(0, out) && !empty.bytes(1, out));
}

TEST(cursor_refuses_bytes_that_are_not_a_field) {
  Field field;
  for (const std::string& wrong :
       {std::string("\x00\x01", 2), std::string("\x0c"), std::string("\x0e\x01"), std::string("\x0f\x01"),
        bytes::varint(uint64_t{1} << 35) + "\x01", std::string("\x0b\x14"),
        std::string(40, '\x0b') + std::string(40, '\x0c')}) {
    const Exact held(wrong);
    Cursor cursor(held.bytes());
    CHECK(!cursor.field(field) && cursor.left() == held.size);
  }
  const Exact deep(std::string(32, '\x0b') + std::string(32, '\x0c'));
  Cursor cursor(deep.bytes());
  CHECK(cursor.field(field) && cursor.empty());
}
