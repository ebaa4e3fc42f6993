// Bytes as one event payload, as a tensor, as metadata and as text.
#include <cmath>

#include "bytes/names.hpp"
#include "bytes/utf8.hpp"
#include "decode/restarts.hpp"
#include "event/event.hpp"
#include "event/metadata.hpp"
#include "event/scalar_tensor.hpp"
#include "fuzz/fuzz.hpp"
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
      REQUIRE(cursor.left() == left);  // a failed read moves nothing
      break;
    }
    REQUIRE(cursor.left() < left);
    REQUIRE(field.bytes.size() <= input.size());
  }
}

void try_event(Bytes input) {
  tbq::EventRef found;
  tbq::MemorySource source(input);
  tbq::walk_event(source, found);
  REQUIRE(within(found.file_version, input.size()));
  REQUIRE(within(found.writer, input.size()));
  for (const tbq::ValueRef& value : found.values) {
    REQUIRE(within(value.tag, input.size()) && within(value.payload, input.size()));
    REQUIRE(within(value.metadata, input.size()) && value.end <= input.size());
    tbq::TagMetadata metadata;
    tbq::parse_metadata(input.subspan(value.metadata.offset, value.metadata.length), metadata);
    const auto kind = static_cast<size_t>(tbq::kind_of(value.field, metadata.plugin));
    REQUIRE(kind < tbq::kKindCount);
    tbq::scalar_of_tensor(input.subspan(value.payload.offset, value.payload.length));
  }
}

void try_tensor(Bytes input) {
  const tbq::ScalarTensor number = tbq::scalar_of_tensor(input);
  if (!number.slot) return;
  REQUIRE(number.valid && (number.dtype == tbq::Dtype::float32 || number.dtype == tbq::Dtype::float64));
  const size_t width = number.dtype == tbq::Dtype::float32 ? 4 : 8;
  const auto at = static_cast<size_t>(number.slot - input.data());
  REQUIRE(at <= input.size() && width <= input.size() - at);
  const double held = width == 4 ? tbq::load_le<float>(number.slot) : tbq::load_le<double>(number.slot);
  REQUIRE(held == number.value || (std::isnan(held) && std::isnan(number.value)));
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
  try_tensor(input);
  try_text(input);
  tbq::TagMetadata metadata;
  tbq::parse_metadata(input, metadata);
  return 0;
}
