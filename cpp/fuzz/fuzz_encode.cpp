// Checks that the reader decodes what the writer encodes: any scalars and values through EventBuffer. Also
// passes any bytes to the functions that examine the end of a file before a writer continues it.
#include <bit>
#include <cmath>

#include "fuzz/fuzz.hpp"
#include "fuzz/rows.hpp"
#include "io/memory_file.hpp"
#include "record/framing.hpp"
#include "write/event_buffer.hpp"
#include "write/last_step.hpp"

namespace {

using tbq::Bytes;

const bool added = [] {
  using namespace bytes;
  const auto scalar = [](uint8_t style, const std::string& tag, double value, int64_t step) {
    return std::string{static_cast<char>(style), static_cast<char>(tag.size())} + tag + of(value) + of(step);
  };
  std::string all;
  for (uint8_t style = 0; style < 4; ++style) {
    for (const double value : {0.5, -0.0, 1e300, std::nan("")}) all += scalar(style, "loss", value, style);
    seeds().push_back(scalar(style, "a", 3.25, -1) + scalar(style, std::string(100, 'x'), 2.5, 1LL << 62));
  }
  seeds().push_back(all);
  seeds().push_back(std::string{4, 1, 'v', 8, 30} + tensor(1, of(1.5F)) + of(int64_t{5}));
  seeds().push_back(std::string{5, 12} + message(1, message(1, "t") + fixed(2, 0.5F)) + of(int64_t{5}));
  seeds().push_back(std::string{6} + record(scalar(0, "t", 1, 2)) + record(bytes::scalar("t", 9, 0.5F)));
  return true;
}();

// The value that the reader returns for a scalar passed to the writer.
double read_back(const tbq::Scalar& scalar) {
  switch (scalar.style) {
    case tbq::ScalarStyle::simple:
    case tbq::ScalarStyle::tensor_float:
      return static_cast<double>(static_cast<float>(scalar.real));
    case tbq::ScalarStyle::tensor_double:
      return scalar.real;
    case tbq::ScalarStyle::tensor_int64:
      return static_cast<double>(scalar.integer);
  }
  return 0;
}

void look_at_tail(Bytes tail) {
  const size_t complete = tbq::whole_records(tail);
  REQUIRE(complete <= tail.size());
  REQUIRE(tbq::whole_records(tail.first(complete)) == complete);
  const auto last = tbq::last_step(tail);
  std::string record;
  tbq::append_record(record, tail);
  const std::vector<uint8_t> framed(record.begin(), record.end());
  REQUIRE(framed.size() == tail.size() + tbq::kOverhead);
  REQUIRE(tbq::whole_records(framed) == framed.size());
  uint64_t length = 0;
  REQUIRE(tbq::read_header(framed.data(), length) && length == tail.size());
  REQUIRE(tbq::payload_agrees(framed.data() + tbq::kHeader, tail.size(),
                              tbq::load_le<uint32_t>(framed.data() + tbq::kHeader + tail.size())));
  // An incomplete record changes nothing.
  REQUIRE(tbq::last_step({framed.data(), tbq::kHeader}) == std::nullopt);
  (void)last;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  look_at_tail({data, size});
  Input input(data, size);
  tbq::EventBuffer buffer(tbq::BufferLimits{});
  Rows wanted;
  size_t events = 0;
  bool scalars_only = true;
  while (input.size() > 0 && events < 64) {
    const uint8_t what = input.byte() % 8;
    const std::string tag = input.text(input.byte());
    if (what < 4) {
      tbq::Scalar scalar;
      scalar.tag = tag;
      scalar.style = static_cast<tbq::ScalarStyle>(what);
      const auto bits = input.number<uint64_t>();
      scalar.real = std::bit_cast<double>(bits);
      scalar.integer = static_cast<int64_t>(bits);
      // Converting a double that is too large for float32 is undefined; the writer's caller prevents it.
      if (what < 2 && std::isfinite(scalar.real) && std::abs(scalar.real) > 3e38) scalar.real = 3e38;
      const tbq::Stamp stamp{1e9, input.number<int64_t>(), true};
      buffer.scalar(scalar, stamp);
      Rows::Series& series = wanted.series[{tag, tbq::Kind::scalars}];
      series.steps.push_back(stamp.step);
      series.bytes += bytes::of(stamp.wall_time) + bytes::of(read_back(scalar));
    } else {
      scalars_only = false;
      const tbq::Stamp stamp{static_cast<double>(what), static_cast<int8_t>(input.byte()), what % 2 == 0};
      const std::string payload = input.text(input.byte());
      if (what == 4) buffer.value(tag, 8 << 3 | 2, payload, payload.substr(0, payload.size() / 2), stamp);
      if (what == 5) buffer.summary(payload, stamp);
      if (what == 6) buffer.fields(payload, stamp);
      if (what == 7) buffer.value(tag, 0, {}, payload, stamp);
    }
    ++events;
  }
  tbq::Chunk chunk = buffer.swap_out();
  REQUIRE(chunk.events == events && buffer.pending_bytes() == 0);
  REQUIRE(tbq::whole_records({chunk.data.get(), chunk.size}) == chunk.size);
  buffer.notes();
  tbq::MemoryFile file(std::string(reinterpret_cast<const char*>(chunk.data.get()), chunk.size));
  buffer.give_back(std::move(chunk));
  tbq::DecodeOptions options;
  options.in_place = true;
  options.block = 4096;
  options.kinds = tbq::bit(tbq::Kind::scalars);
  options.restarts = tbq::Restarts::keep;
  const tbq::Result result = tbq::decode({{file.path(), 0}}, options);
  REQUIRE(result.files[0].records == events && result.files[0].truncated == 0);
  if (!scalars_only) return 0;
  REQUIRE(result.files[0].faults.empty());
  require_equal(rows_of(result, file), wanted, "read back");
  return 0;
}
