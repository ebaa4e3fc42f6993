// Fuzzes the drop-ins' accumulator with bytes as a file: reading at once, in pieces, and without the fast
// paths must agree.

#include "compat/accumulator.hpp"
#include "compat/record_file.hpp"
#include "fuzz/fuzz.hpp"
#include "io/memory_file.hpp"

namespace {

tbq::Accumulator make(uint64_t most) {
  tbq::Accumulator::Sizes sizes;
  for (tbq::ReservoirSize& size : sizes) size.most = most;
  return tbq::Accumulator(sizes, [](std::string_view text) { return static_cast<double>(text.size()) / 6; });
}

uint64_t rows(const tbq::Accumulator& accumulator, uint64_t most) {
  uint64_t count = 0;
  for (size_t kind = 0; kind < tbq::kLegacyKinds; ++kind) {
    const auto legacy = static_cast<tbq::LegacyKind>(kind);
    for (const std::string_view tag : accumulator.tags(legacy)) {
      const auto* scalars = legacy == tbq::LegacyKind::scalars ? accumulator.scalars(tag) : nullptr;
      const auto values = scalars ? nullptr : accumulator.values(legacy, tag);
      REQUIRE(scalars || values);
      const size_t size = scalars ? scalars->size() : values->size();
      REQUIRE(most == 0 || size <= most);
      count += size;
    }
  }
  return count;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const uint64_t most = data[0] % 4;
  const std::string content(reinterpret_cast<const char*>(data) + 2, size - 2);
  tbq::Accumulator at_once = make(most);
  tbq::MemoryFile memory(content);
  tbq::RecordFile file(memory.path());
  uint64_t events = 0;
  file.read([&](tbq::Bytes event, uint64_t) {
    at_once.add(event);
    ++events;
    return true;
  });
  tbq::Accumulator pieces = make(most);
  pieces.set_general_only(true);
  tbq::RecordFile reread(memory.path());
  uint64_t returned = 0;
  for (uint64_t before = 1; before != returned;) {
    before = returned;
    reread.read([&](tbq::Bytes event, uint64_t) {
      pieces.add(event);
      return ++returned % (1 + data[1] % 7) != 0;
    });
  }
  REQUIRE(returned == events);
  REQUIRE(rows(at_once, most) == rows(pieces, most));
  REQUIRE(at_once.events() == pieces.events() && at_once.last_step() == pieces.last_step());
  REQUIRE(at_once.take_notes().size() == pieces.take_notes().size());
  return 0;
}
