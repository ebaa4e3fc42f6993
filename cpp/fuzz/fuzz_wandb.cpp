// Fuzzes bytes as a `.wandb` file: the walk always ends, and without damage, reading in pieces gives the same
// events.
#include "bytes/crc32.hpp"
#include "formats/wandb.hpp"
#include "fuzz/fuzz.hpp"
#include "record/framing.hpp"

namespace {

constexpr char kHead[] = ":W&B\xe1\xbe\x00";

std::string fragment(uint8_t type, const std::string& content) {
  std::string checked(1, static_cast<char>(type));
  checked += content;
  const uint32_t crc = tbq::crc32(reinterpret_cast<const uint8_t*>(checked.data()), checked.size());
  std::string out(7, '\0');
  std::memcpy(out.data(), &crc, 4);
  out[4] = static_cast<char>(content.size());
  out[5] = static_cast<char>(content.size() >> 8);
  out[6] = static_cast<char>(type);
  return out + content;
}

// Record { history { item { key: "a" value_json: "0.5" } step { num: 3 } } }
const std::string kRecord(
    "\x12\x11\x0a\x0b\x0a\x01"
    "a\x82\x01\x05-1e-3\x12\x02\x08\x03",
    19);

const bool added = [] {
  const std::string head(kHead, 7);
  seeds().push_back("\x05" + head + fragment(1, kRecord) + fragment(1, kRecord));
  seeds().push_back("\x01" + head + fragment(2, kRecord.substr(0, 4)) + fragment(4, kRecord.substr(4)));
  seeds().push_back("\x40" + head + fragment(3, kRecord) + fragment(1, kRecord).substr(0, 12));
  return true;
}();

struct Outcome {
  std::string events;
  std::vector<uint64_t> others;
  uint64_t position = 0;
  bool damaged = false;
};

Outcome read(const std::vector<uint8_t>& file, size_t piece) {
  Outcome outcome;
  tbq::EventBuffer out({SIZE_MAX, SIZE_MAX, SIZE_MAX});
  tbq::WandbReader reader(true);
  size_t size = piece;
  uint64_t end = 0;
  while (reader.walk().position() < file.size()) {
    const uint64_t at = reader.walk().position();
    const size_t count = std::min<size_t>(size, file.size() - at);
    // An exact copy: reading beyond its end shows.
    const std::vector<uint8_t> data(file.begin() + static_cast<ptrdiff_t>(at),
                                    file.begin() + static_cast<ptrdiff_t>(at + count));
    const auto other = reader.read(data, at, SIZE_MAX, out);
    const uint64_t now = reader.walk().position();
    REQUIRE(now >= at);
    if (other) {
      outcome.others.push_back(other->field);
      REQUIRE(now > at);
      continue;
    }
    if (now == at) {
      if (at + count >= file.size()) break;
      size *= 2;
    }
  }
  for (const tbq::WandbFault& fault : reader.walk().faults()) {
    REQUIRE(fault.length > 0 && fault.offset >= end);
    end = fault.offset + fault.length;
    outcome.damaged = true;
  }
  const tbq::Chunk chunk = out.swap_out();
  outcome.events.assign(reinterpret_cast<const char*>(chunk.data.get()), chunk.size);
  outcome.position = reader.walk().position();
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const size_t piece = size_t{input.byte()} + 1;
  const std::vector<uint8_t> file(input.data(), input.data() + input.size());
  if (file.size() < tbq::WandbWalk::kHead) return 0;
  const Outcome whole = read(file, file.size());
  const Outcome parts = read(file, piece);
  // A damaged file may have a record inside another one, which only the beginning of that one shows.
  if (whole.damaged || parts.damaged) return 0;
  REQUIRE(whole.events == parts.events && whole.others == parts.others && whole.position == parts.position);
  return 0;
}
