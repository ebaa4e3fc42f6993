// Rewrites any event file in one of several ways: the new file must be valid and decode to the rows of the
// original, except for the requested changes.
#include <map>
#include <string>
#include <vector>

#include "event/edit.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/logs.hpp"
#include "fuzz/rows.hpp"
#include "fuzz/script.hpp"
#include "io/memory_file.hpp"
#include "record/framing.hpp"
#include "rewrite/rewrite.hpp"

using namespace tbq;

namespace {

enum Way : uint8_t { kCopy, kRepair, kResume, kSteps, kDrop, kRename, kThin, kShift, kEdit, kWays };
constexpr uint8_t kRawFile = 128;

const bool added = [] {
  uint8_t way = 0;
  for (const std::string& log : log_scripts()) {
    seeds().push_back(std::string{static_cast<char>(way % kEdit), static_cast<char>(way)} + log);
    ++way;
  }
  for (const std::string& payload :
       {bytes::scalar("loss", 3, 0.5F),
        bytes::event(1.0, 7, bytes::summary(bytes::message(1, "t") + bytes::metadata("scalars"))),
        bytes::event(1.0, -2, bytes::message(4, "graph") + bytes::message(3, "brain.Event:2"))}) {
    for (char options = 0; options < 8; ++options) {
      seeds().push_back(std::string{static_cast<char>(kEdit), options} + payload);
    }
  }
  return true;
}();

Result decode_all(const MemoryFile& file, Restarts restarts) {
  DecodeOptions options;
  options.in_place = true;
  options.block = 4096;
  options.kinds = ~Kinds{0};
  options.restarts = restarts;
  options.session_tables = true;
  options.verify = true;
  return decode({{file.path(), 0}}, options);
}

// Kinds that steps and restarts do not affect.
bool stepless(Kind kind) {
  return kind == Kind::hparams || kind == Kind::custom_scalars || kind == Kind::graphs || kind == Kind::logs;
}

Rows with_steps(Rows rows) {
  std::erase_if(rows.series, [](const auto& entry) { return stepless(entry.first.kind); });
  return rows;
}

// Edits the bytes alone, which need not be an event.
void edit(Input input) {
  const uint8_t options = input.byte();
  const Bytes event(input.data(), input.size());
  const std::string tag = "renamed";
  std::vector<ValueEdit> edits(3);
  std::string out;
  EventRef original;
  MemorySource source(event);
  const bool sound = walk_event(source, original);
  const Edited same = edit_event(event, edits, nullptr, out);
  if (sound) REQUIRE(same == Edited::kept && out == as_text(event));
  edits[0].drop = (options & 1) != 0;
  edits[1].tag = &tag;
  if ((options & 2) != 0) edits[0].tag = &tag;
  edits[2].metadata = event.first(event.size() < 8 ? event.size() : 8);
  const int64_t step = static_cast<int8_t>(options);
  out.clear();
  if (edit_event(event, edits, (options & 4) != 0 ? &step : nullptr, out) != Edited::kept) return;
  EventRef edited;
  const auto* data = reinterpret_cast<const uint8_t*>(out.data());
  MemorySource result({data, out.size()});
  REQUIRE(walk_event(result, edited) || !sound);
  if (!sound) return;
  if ((options & 4) != 0) REQUIRE(edited.step == step);
  const size_t gone = edits[0].drop && !original.values.empty() ? 1 : 0;
  REQUIRE(edited.values.size() + gone == original.values.size());
}

// Kinds with values in the event itself, which have no tag to rename.
bool untagged(Kind kind) { return kind == Kind::graphs || kind == Kind::logs; }

// Whether the rows can be compared after values were left out. A tag's first plugin counts, and a session is
// ordered by the time of its first record. Either may be dropped, unless there is only one plugin, and each
// session begins with a file_version that has a time.
bool comparable(const std::string& file) {
  bool first = true;
  std::map<std::string, std::string> plugins;
  const auto* data = reinterpret_cast<const uint8_t*>(file.data());
  for (size_t at = 0; file.size() - at >= kOverhead;) {
    uint64_t length;
    if (!read_header(data + at, length) || length > file.size() - at - kOverhead ||
        !payload_agrees(data + at + kHeader, length, load_le<uint32_t>(data + at + kHeader + length))) {
      ++at;
      continue;
    }
    const Bytes payload(data + at + kHeader, length);
    EventRef event;
    MemorySource source(payload);
    walk_event(source, event);
    if ((first || event.has_file_version) && (!event.has_file_version || event.wall_time == 0)) return false;
    first = false;
    for (const ValueRef& value : event.values) {
      TagMetadata metadata;
      if (!value.has_metadata ||
          !parse_metadata(payload.subspan(value.metadata.offset, value.metadata.length), metadata)) {
        continue;
      }
      const std::string tag(as_text(payload.subspan(value.tag.offset, value.tag.length)));
      if (plugins.try_emplace(tag, metadata.plugin).first->second != metadata.plugin) return false;
    }
    at += kOverhead + length;
  }
  return true;
}

bool has_bad_events(const Result& survey) {
  for (const Fault& fault : survey.files[0].faults) {
    if (fault.code == FaultCode::bad_event) return true;
  }
  return survey.files[0].more_faults > 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const uint8_t first = input.byte();
  const auto way = static_cast<Way>((first & 63) % kWays);
  if (way == kEdit) {
    edit(input);
    return 0;
  }
  const uint8_t amount = input.byte();
  MemoryFile in((first & kRawFile) != 0 ? input.text(input.size())
                                        : script::file_of(input.data(), input.size()));
  const Result survey = decode_all(in, Restarts::keep);
  std::vector<SeriesRule> rules(survey.series.size());
  RewriteOptions options;
  options.block = in.content().size() > 4000 ? 4096 : 1 + amount;
  options.repair = way != kCopy;
  switch (way) {
    case kResume:
      options.resume = true;
      break;
    case kSteps:
      options.first_step = static_cast<int8_t>(amount) / 8;
      options.last_step = options.first_step + amount % 8;
      break;
    case kDrop:
      for (size_t i = 0; i < rules.size(); ++i) rules[i].drop = (i + amount) % 2 == 0;
      break;
    case kRename:
      for (size_t i = 0; i < rules.size(); ++i) {
        const SeriesReport& series = survey.series[i];
        rules[i].renamed = !untagged(series.kind);
        rules[i].tag = "renamed/" + series.tag;
      }
      break;
    case kThin:
      options.max_points = 1 + amount % 5;
      options.every = 1 + amount % 3;
      break;
    case kShift:
      options.offset = static_cast<int8_t>(amount);
      break;
    default:
      break;
  }
  MemoryFile out;
  const RewriteReport report = rewrite_run(survey, {in.path()}, 0, rules, options, out.path());
  MemoryFile general_out;
  options.general_only = true;
  const RewriteReport general = rewrite_run(survey, {in.path()}, 0, rules, options, general_out.path());
  REQUIRE(general_out.content() == out.content());
  REQUIRE(general.state == report.state && general.records_out == report.records_out &&
          general.changed == report.changed && general.dropped_rule == report.dropped_rule &&
          general.dropped_restart == report.dropped_restart &&
          general.dropped_steps == report.dropped_steps && general.dropped_thinned == report.dropped_thinned);
  const FileReport& before = survey.files[0];
  if (way == kCopy && report.state == RewriteState::damaged) {
    REQUIRE(!before.faults.empty() || before.more_faults > 0);
    return 0;
  }
  REQUIRE(report.state == RewriteState::done);
  REQUIRE(report.bytes_out == out.content().size());
  const Result result = decode_all(out, Restarts::keep);
  const FileReport& after = result.files[0];
  REQUIRE(after.truncated == 0 && after.records == report.records_out);
  if (way == kCopy) {
    REQUIRE(after.faults.size() == before.faults.size());  // records that do not contain an event stay
  } else {
    REQUIRE(after.faults.empty());
  }
  REQUIRE(report.records_in + report.headers + report.marks - report.records_out <=
          report.dropped_rule + report.dropped_restart + report.dropped_steps + report.dropped_thinned);
  if (has_bad_events(survey)) return 0;  // their readable parts are rows, which a repair removes
  if (way != kCopy && way != kRepair && !comparable(in.content())) return 0;
  // A value may get its tag's metadata, if the value that carried it may be dropped.
  const bool same = way == kCopy || way == kRepair || way == kRename || way == kShift;
  const Rows got = rows_of(result, out, {}, same);
  switch (way) {
    case kCopy:
    case kRepair: {
      require_equal(got, rows_of(survey, in), "repaired");
      MemoryFile second;
      options.repair = false;
      rules.assign(result.series.size(), {});
      REQUIRE(rewrite_run(result, {out.path()}, 0, rules, options, second.path()).state ==
              RewriteState::done);
      REQUIRE(second.content() == out.content());
      break;
    }
    case kResume: {
      const Result resumed = decode_all(in, Restarts::resume);
      require_equal(with_steps(got), with_steps(rows_of(resumed, in, {}, same)), "resumed");
      break;
    }
    case kDrop: {
      Rows want = rows_of(survey, in, {}, same);
      for (size_t i = 0; i < rules.size(); ++i) {
        if (rules[i].drop) want.series.erase({survey.series[i].tag, survey.series[i].kind});
      }
      require_equal(got, want, "some series dropped");
      break;
    }
    case kRename: {
      Rows want;
      for (auto& [key, series] : rows_of(survey, in).series) {
        want.series[{(untagged(key.kind) ? "" : "renamed/") + key.tag, key.kind}] = series;
      }
      require_equal(got, want, "renamed");
      break;
    }
    case kSteps: {
      const auto wanted = [&](const std::string&, Kind, int64_t step) {
        return step >= options.first_step && step <= options.last_step;
      };
      require_equal(with_steps(got), with_steps(rows_of(survey, in, wanted, same)), "some steps");
      break;
    }
    case kShift: {
      Rows want = with_steps(rows_of(survey, in));
      for (auto& [key, series] : want.series) {
        for (int64_t& step : series.steps) step += options.offset;
      }
      require_equal(with_steps(got), want, "shifted");
      break;
    }
    case kThin:
      for (const SeriesReport& series : result.series) {
        if (series.kind == Kind::scalars) REQUIRE(series.rows <= options.max_points);
      }
      break;
    default:
      break;
  }
  return 0;
}
