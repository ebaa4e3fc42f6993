// One event file, read in two ways that must give the same rows: in small blocks, in parts (on one thread:
// cpp/tests/threads.cpp has several), with large values left in the file, with every record verified, or only
// some kinds, steps or tags of it.
#include <map>

#include "fuzz/fuzz.hpp"
#include "fuzz/logs.hpp"
#include "fuzz/rows.hpp"
#include "fuzz/script.hpp"
#include "fuzz/tables.hpp"
#include "io/memory_file.hpp"

namespace {

enum Way : uint8_t {
  kBlocks,
  kParts,
  kDeferred,
  kVerified,
  kOneKind,
  kSteps,
  kOneTag,
  kSmallParts,
  kGeneral,
  kCounted,
  kWays
};

constexpr uint8_t kRaw = 128;

const bool added = [] {
  uint8_t way = 0;
  for (const std::string& log : log_scripts()) {
    seeds().push_back(std::string{static_cast<char>(way % (4 * kWays)), static_cast<char>(way * 31)} + log);
    ++way;
  }
  return true;
}();

Rows decode(const tbq::MemoryFile& file, const tbq::DecodeOptions& options) {
  return rows_of(tbq::decode({{file.path(), 0}}, options), file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const uint8_t first = input.byte();
  const uint8_t amount = input.byte();
  const auto way = static_cast<Way>((first & 63) / 4 % kWays);
  const tbq::MemoryFile file((first & kRaw) != 0 ? input.text(input.size())
                                                 : script::file_of(input.data(), input.size()));
  tbq::DecodeOptions options;
  options.in_place = true;
  options.block = 4096;
  options.restarts = static_cast<tbq::Restarts>(first % 4);
  options.kinds = ~tbq::Kinds{0};
  const tbq::Result result = tbq::decode({{file.path(), 0}}, options);
  const Rows rows = rows_of(result, file);
  tbq::DecodeOptions other = options;
  switch (way) {
    case kBlocks:
    case kParts:
    case kSmallParts: {
      if (way != kBlocks) {
        other.threads = 2 + amount % 3;
        other.split = 1 + file.content().size() / 16 + amount * (file.content().size() / 256 + 1) / 8;
      }
      if (way != kParts) other.block = file.content().size() > 4000 ? 64 + amount : 1 + amount;
      const tbq::Result again = tbq::decode({{file.path(), 0}}, other);
      require_equal(rows_of(again, file), rows, way == kBlocks ? "small blocks" : "parts");
      require_same_report(again, result);
      break;
    }
    case kDeferred: {
      other.defer = true;
      const tbq::Result again = tbq::decode({{file.path(), 0}}, other);
      require_equal(rows_of(again, file), rows, "deferred");
      if (amount % 4 != 0) break;  // tables take long
      const auto kind = static_cast<tbq::Kind>(1 + amount / 4 % (tbq::kKindCount - 1));
      const tbq::TableKind& table = *tbq::table_kind(tbq::kind_name(kind));
      REQUIRE(table_of(again, table) == table_of(result, table));
      break;
    }
    case kVerified:
      other.verify = true;
      if (amount % 2 == 0) {
        require_equal(decode(file, other), rows, "verified");
      } else {
        other.kinds = options.kinds = tbq::bit(tbq::Kind::scalars);
        require_equal(decode(file, other), decode(file, options), "verified scalars");
      }
      break;
    case kOneKind: {
      const auto kind = static_cast<tbq::Kind>(amount % tbq::kKindCount);
      other.kinds = tbq::bit(kind);
      const auto wanted = [&](const std::string&, tbq::Kind one, int64_t) { return one == kind; };
      require_equal(decode(file, other), rows_of(result, file, wanted), tbq::kind_name(kind));
      break;
    }
    case kSteps: {
      other.first_step = static_cast<int8_t>(amount) / 8;
      other.last_step = other.first_step + amount % 8;
      const auto wanted = [&](const std::string&, tbq::Kind, int64_t step) {
        return step >= other.first_step && step <= other.last_step;
      };
      require_equal(decode(file, other), rows_of(result, file, wanted), "some steps");
      break;
    }
    case kOneTag: {
      const std::string name(1, static_cast<char>('a' + amount % 4));
      other.select = [&](uint32_t, std::string_view tag) { return tag == name; };
      const auto wanted = [&](const std::string& tag, tbq::Kind, int64_t) { return tag == name; };
      require_equal(decode(file, other), rows_of(result, file, wanted), "one tag");
      break;
    }
    case kGeneral: {
      other.general_only = true;
      const tbq::Result again = tbq::decode({{file.path(), 0}}, other);
      require_equal(rows_of(again, file), rows, "no fast paths");
      require_same_report(again, result);
      break;
    }
    case kCounted: {
      other.count = true;
      const tbq::Result again = tbq::decode({{file.path(), 0}}, other);
      std::map<std::pair<std::string, tbq::Kind>, uint64_t> got, want;
      for (const tbq::SeriesReport& one : again.series) got[{one.tag, one.kind}] = one.seen.steps.count;
      for (const tbq::SeriesReport& one : result.series) want[{one.tag, one.kind}] = one.rows;
      REQUIRE(got == want);
      break;
    }
    case kWays:
      break;
  }
  return 0;
}
