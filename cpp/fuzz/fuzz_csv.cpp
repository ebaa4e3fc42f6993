// Fuzzes bytes as the rows of a CSV file: reading in pieces gives the same columns as reading at once.
#include <algorithm>

#include "formats/csv_columns.hpp"
#include "fuzz/fuzz.hpp"

namespace {

const bool added = [] {
  seeds().push_back(
      "\x03"
      "0,1.5\n1,nan,2\n\n2,\"a\"\"b\"\r\n3, -1e-3\n");
  seeds().push_back(
      "\x01"
      "9223372036854775808,\"two\nlines\"\n.5,5.\n+7,\"open\n1,2\n");
  seeds().push_back(
      "\x05"
      "TRUE,None\n9007199254740993.0,1e999\n0x10,-Infinity\n");
  return true;
}();

struct Outcome {
  std::vector<tbq::CsvColumn> columns;
  uint64_t bad_lines = 0;
  size_t used = 0;
};

Outcome read(const std::vector<uint8_t>& file, size_t piece) {
  tbq::CsvReader reader(2, {0});
  Outcome outcome;
  for (size_t end = 0; end < file.size();) {
    end = std::min(end + piece, file.size());
    // An exact copy: reading beyond its end shows.
    const std::vector<uint8_t> data(file.begin() + static_cast<ptrdiff_t>(outcome.used),
                                    file.begin() + static_cast<ptrdiff_t>(end));
    const size_t used = reader.read(data);
    REQUIRE(used <= data.size() && (used == 0 || data[used - 1] == '\n'));
    outcome.used += used;
  }
  outcome.columns = reader.columns();
  outcome.bad_lines = reader.bad_lines();
  return outcome;
}

bool same(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const size_t piece = size_t{input.byte()} + 1;
  const std::vector<uint8_t> file(input.data(), input.data() + input.size());
  const Outcome whole = read(file, file.size());
  const Outcome parts = read(file, piece);
  REQUIRE(whole.used == parts.used && whole.bad_lines == parts.bad_lines);
  for (size_t i = 0; i < 2; ++i) {
    const tbq::CsvColumn& a = whole.columns[i];
    const tbq::CsvColumn& b = parts.columns[i];
    REQUIRE(std::ranges::equal(a.values, b.values, same) && a.present == b.present);
    REQUIRE(a.kinds == b.kinds && a.whole == b.whole && a.texts == b.texts && a.first_text == b.first_text);
    REQUIRE(a.kinds.size() == (i == 0 ? a.values.size() : 0) && a.present.size() == a.values.size());
  }
  return 0;
}
