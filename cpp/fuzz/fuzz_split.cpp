// Reads one event file in two ways that must return the same rows and report the same damage: in small
// blocks, in parts (on one thread; cpp/tests/threads.cpp uses several), with large values left in the file,
// with every record verified, or only some kinds, steps or tags of it. Also reads two files, one with a
// flipped bit: no row may disappear without a report.
#include <algorithm>
#include <map>

#include "fuzz/fuzz.hpp"
#include "fuzz/logs.hpp"
#include "fuzz/rows.hpp"
#include "fuzz/script.hpp"
#include "fuzz/tables.hpp"
#include "io/memory_file.hpp"
#include "record/framing.hpp"

namespace {

using tbq::Bytes;

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
  kFlipped,
  kPartsOfKind,
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

bool is_healthy(const tbq::FileReport& report) {
  return report.faults.empty() && report.truncated == 0 && report.state == tbq::FileState::events;
}

// Whether a reader that wants only values of `kinds` may skip this damaged record: its values have other
// kinds, and agree with series that every reader sees.
bool may_be_passed(const tbq::MemoryFile& file, const tbq::Fault& fault, const tbq::Result& all,
                   tbq::Kinds kinds) {
  const auto* record = reinterpret_cast<const uint8_t*>(file.content().data()) + fault.offset;
  uint64_t length;
  if (fault.code != tbq::FaultCode::bad_payload || !tbq::read_header(record, length) ||
      length <= tbq::kLargeRecord) {
    return false;
  }
  const Bytes payload(record + tbq::kHeader, static_cast<size_t>(length));
  tbq::MemorySource source(payload);
  tbq::EventRef event;
  if (!tbq::walk_event(source, event)) return false;
  return std::all_of(event.values.begin(), event.values.end(), [&](const tbq::ValueRef& value) {
    const auto tag = tbq::as_text(payload.subspan(value.tag.offset, value.tag.length));
    return tbq::untagged_name(value.field).empty() &&
           std::any_of(all.series.begin(), all.series.end(), [&](const tbq::SeriesReport& series) {
             return series.tag == tag && (tbq::bit(series.kind) & kinds) == 0;
           });
  });
}

// Requires that `some`, for which only `kinds` were wanted, reports the same as `all`, except damage in
// records that it need not read.
void require_reported(const tbq::Result& some, const tbq::Result& all, const tbq::MemoryFile& file,
                      tbq::Kinds kinds) {
  const tbq::FileReport& got = some.files[0];
  const tbq::FileReport& want = all.files[0];
  REQUIRE(got.state == want.state && got.truncated == want.truncated && got.resume == want.resume);
  auto next = got.faults.begin();
  for (const tbq::Fault& fault : want.faults) {
    if (next != got.faults.end() && next->offset == fault.offset) {
      REQUIRE(next->code == fault.code && next->length == fault.length);
      ++next;
    } else {
      REQUIRE(may_be_passed(file, fault, all, kinds));
    }
  }
  REQUIRE(next == got.faults.end());
}

tbq::Kinds one_kind(uint8_t amount) { return tbq::bit(static_cast<tbq::Kind>(amount % tbq::kKindCount)); }

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
  options.skippable = 0;
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
      const tbq::Result second = tbq::decode({{file.path(), 0}}, other);
      require_equal(rows_of(second, file), rows, way == kBlocks ? "small blocks" : "parts");
      require_same_report(second, result);
      break;
    }
    case kDeferred: {
      other.defer = true;
      const tbq::Result second = tbq::decode({{file.path(), 0}}, other);
      require_equal(rows_of(second, file), rows, "deferred");
      require_same_report(second, result);
      if (amount % 4 != 0) break;  // tables take long
      const auto kind = static_cast<tbq::Kind>(1 + amount / 4 % (tbq::kKindCount - 1));
      const tbq::TableKind& table = *tbq::table_kind(tbq::kind_name(kind));
      REQUIRE(table_of(second, table) == table_of(result, table));
      break;
    }
    case kVerified: {
      other.verify = true;
      if (amount % 2 == 0) {
        const tbq::Result second = tbq::decode({{file.path(), 0}}, other);
        require_equal(rows_of(second, file), rows, "verified");
        require_same_report(second, result);
      } else {
        other.kinds = options.kinds = one_kind(amount / 2);
        const tbq::Result second = tbq::decode({{file.path(), 0}}, other);
        const tbq::Result quick = tbq::decode({{file.path(), 0}}, options);
        require_equal(rows_of(second, file), rows_of(quick, file), "one kind, verified");
        require_reported(quick, second, file, options.kinds);
      }
      break;
    }
    case kOneKind: {
      const auto kind = static_cast<tbq::Kind>(amount % tbq::kKindCount);
      other.kinds = tbq::bit(kind);
      const auto wanted = [&](const std::string&, tbq::Kind row_kind, int64_t) { return row_kind == kind; };
      const tbq::Result second = tbq::decode({{file.path(), 0}}, other);
      require_equal(rows_of(second, file), rows_of(result, file, wanted), tbq::kind_name(kind));
      require_reported(second, result, file, other.kinds);
      break;
    }
    case kSteps: {
      other.first_step = static_cast<int8_t>(amount) / 8;
      other.last_step = other.first_step + amount % 8;
      const auto wanted = [&](const std::string&, tbq::Kind, int64_t step) {
        return step >= other.first_step && step <= other.last_step;
      };
      const tbq::Result second = tbq::decode({{file.path(), 0}}, other);
      require_equal(rows_of(second, file), rows_of(result, file, wanted), "some steps");
      require_reported(second, result, file, other.kinds);
      break;
    }
    case kOneTag: {
      const std::string name(1, static_cast<char>('a' + amount % 4));
      other.select = [&](uint32_t, std::string_view tag) { return tag == name; };
      const auto wanted = [&](const std::string& tag, tbq::Kind, int64_t) { return tag == name; };
      const tbq::Result second = tbq::decode({{file.path(), 0}}, other);
      require_equal(rows_of(second, file), rows_of(result, file, wanted), "one tag");
      require_reported(second, result, file, other.kinds);
      break;
    }
    case kFlipped: {
      size_t flips = 0;
      if ((first & kRaw) != 0) break;
      const tbq::MemoryFile sound(script::unflipped_file_of(input.data(), input.size(), flips));
      if (flips != 1 || sound.content().size() != file.content().size()) break;
      const std::string name(1, static_cast<char>('a' + amount / 16 % 4));
      other.kinds = one_kind(amount);
      if (amount >= 64) other.select = [&](uint32_t, std::string_view tag) { return tag == name; };
      const tbq::Result before = tbq::decode({{sound.path(), 0}}, other);
      const tbq::Result second = tbq::decode({{file.path(), 0}}, other);
      if (!is_healthy(before.files[0]) || !is_healthy(second.files[0])) break;
      require_equal(rows_of(second, file), rows_of(before, sound), "a flipped bit that nothing tells of");
      break;
    }
    case kPartsOfKind: {
      options.kinds = other.kinds = one_kind(amount);
      other.threads = 2 + amount / 16 % 3;
      other.split = 1 + file.content().size() / (4 + amount / 64 * 4);
      const tbq::Result quick = tbq::decode({{file.path(), 0}}, options);
      const tbq::Result second = tbq::decode({{file.path(), 0}}, other);
      require_equal(rows_of(second, file), rows_of(quick, file), "parts, one kind");
      require_reported(second, quick, file, 0);
      REQUIRE(second.files[0].faults.size() == quick.files[0].faults.size());
      break;
    }
    case kGeneral: {
      other.general_only = true;
      const tbq::Result second = tbq::decode({{file.path(), 0}}, other);
      require_equal(rows_of(second, file), rows, "no fast paths");
      require_same_report(second, result);
      break;
    }
    case kCounted: {
      other.count = true;
      const tbq::Result second = tbq::decode({{file.path(), 0}}, other);
      std::map<std::pair<std::string, tbq::Kind>, uint64_t> got, want;
      for (const tbq::SeriesReport& report : second.series)
        got[{report.tag, report.kind}] = report.seen.steps.count;
      for (const tbq::SeriesReport& report : result.series) want[{report.tag, report.kind}] = report.rows;
      REQUIRE(got == want);
      break;
    }
    case kWays:
      break;
  }
  return 0;
}
