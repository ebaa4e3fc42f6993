// Tests edits of events, buffered output, and rewriting entire files.
#include "rewrite/rewrite.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "event/edit.hpp"
#include "io/output.hpp"
#include "record/framing.hpp"
#include "tests/bytes.hpp"
#include "tests/check.hpp"

using namespace tbq;

namespace {

std::string field(uint32_t number, const std::string& bytes) {
  std::string out;
  out.push_back(static_cast<char>(number << 3 | 2));
  out.push_back(static_cast<char>(bytes.size()));  // all lengths are short here
  return out + bytes;
}

std::string wall(double seconds) {
  std::string out(9, '\x09');
  std::memcpy(out.data() + 1, &seconds, sizeof(seconds));
  return out;
}

std::string step(uint8_t value) { return {'\x10', static_cast<char>(value)}; }

std::string value(const std::string& tag, float number) {
  std::string out = field(1, tag) + std::string(5, '\x15');
  std::memcpy(out.data() + out.size() - 4, &number, sizeof(number));
  return field(1, out);
}

std::string scalar(const std::string& tag, uint8_t at, float number) {
  return wall(1.0) + step(at) + field(5, value(tag, number));
}

std::string record(const std::string& payload) {
  std::string out;
  append_record(out, bytes::view(payload));
  return out;
}

class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() / ("tbq_" + std::to_string(std::random_device()()))) {
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }
  static std::string read(const std::string& path) {
    std::stringstream all;
    all << std::ifstream(path, std::ios::binary).rdbuf();
    return all.str();
  }

 private:
  std::filesystem::path path_;
};

Result survey(const std::string& path) {
  DecodeOptions options;
  options.restarts = Restarts::keep;
  options.session_tables = true;
  return decode({{path, 0}}, options);
}

const std::string kVersion = wall(1.0) + field(3, "brain.Event:2");

}  // namespace

TEST(an_edit_without_changes_copies_the_event) {
  const std::string event = scalar("loss", 3, 1.5F) + field(15, "unknown");
  std::string out;
  const ValueEdit edits[1];
  CHECK(edit_event(bytes::view(event), edits, nullptr, out) == Edited::kept);
  CHECK(out == event);
  CHECK(edit_event(bytes::view(event), {}, nullptr, out) == Edited::kept);
  CHECK(out == event);
}

TEST(edit_renames_and_keeps_other_bytes) {
  const std::string name = "train/loss";
  const std::string unknown = field(15, "kept");
  const std::string event = wall(2.0) + step(9) + field(5, value("loss", 1.0F) + unknown) + unknown;
  ValueEdit edit;
  edit.tag = &name;
  std::string out;
  CHECK(edit_event(bytes::view(event), {&edit, 1}, nullptr, out) == Edited::kept);
  CHECK(out == wall(2.0) + step(9) + field(5, value(name, 1.0F) + unknown) + unknown);
}

TEST(edit_drops_values_and_entire_events) {
  const std::string event = wall(2.0) + step(9) + field(5, value("a", 1.0F) + value("b", 2.0F));
  ValueEdit edits[2];
  edits[0].drop = true;
  std::string out;
  CHECK(edit_event(bytes::view(event), edits, nullptr, out) == Edited::kept);
  CHECK(out == wall(2.0) + step(9) + field(5, value("b", 2.0F)));
  edits[1].drop = true;
  CHECK(edit_event(bytes::view(event), edits, nullptr, out) == Edited::empty);
  CHECK(edit_event(bytes::view(event + field(15, "x")), edits, nullptr, out) == Edited::kept);
  CHECK(out == wall(2.0) + step(9) + field(15, "x"));
}

TEST(edit_moves_steps_in_and_out_of_zero) {
  const std::string rest = field(5, value("a", 1.0F));
  const int64_t zero = 0;
  const int64_t minus = -1;
  const int64_t five = 5;
  std::string out;
  CHECK(edit_event(bytes::view(wall(1.0) + step(5) + rest), {}, &zero, out) == Edited::kept);
  CHECK(out == wall(1.0) + rest);
  CHECK(edit_event(bytes::view(wall(1.0) + rest), {}, &five, out) == Edited::kept);
  CHECK(out == wall(1.0) + step(5) + rest);
  CHECK(edit_event(bytes::view(wall(1.0) + step(5) + step(6) + rest), {}, &minus, out) == Edited::kept);
  CHECK(out == wall(1.0) + "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" + rest);
  CHECK(edit_event(bytes::view(wall(1.0)), {}, &five, out) == Edited::kept);
  CHECK(out == wall(1.0) + step(5));
}

TEST(edit_refuses_malformed_events) {
  std::string event = scalar("loss", 3, 1.5F);
  event.pop_back();
  ValueEdit edit;
  edit.drop = true;
  std::string out;
  CHECK(edit_event(bytes::view(event), {&edit, 1}, nullptr, out) == Edited::malformed);
}

TEST(output_writes_through_its_buffer) {
  Folder folder;
  const std::string path = folder.file("out");
  Output out;
  CHECK(out.open(path) == 0);
  std::string want;
  for (size_t size : {1U, 100U, 300000U, 5U, 262144U, 0U, 7U}) {
    const std::string piece(size, static_cast<char>('a' + size % 20));
    CHECK(out.write(bytes::view(piece)));
    want += piece;
  }
  CHECK(out.close() == 0);
  CHECK(out.bytes() == want.size());
  CHECK(Folder::read(path) == want);
  CHECK(out.open(path) == EEXIST);
  CHECK(out.open(path + "/no/where") != 0);
}

TEST(rewrite_is_lossless) {
  Folder folder;
  std::string all = record(kVersion);
  for (uint8_t i = 1; i < 100; ++i) all += record(scalar("loss", i, i)) + record(field(15, "odd"));
  const std::string path = folder.write("in", all);
  const Result result = survey(path);
  const std::vector<SeriesRule> rules(result.series.size());
  const std::string target = folder.file("out");
  const RewriteReport report = rewrite_run(result, {path}, 0, rules, {}, target);
  CHECK(report.state == RewriteState::done);
  CHECK(report.records_in == 199 && report.records_out == 199 && report.changed == 0);
  CHECK(Folder::read(target) == all);
}

TEST(rewrite_drops_a_series_and_repairs) {
  Folder folder;
  const std::string head = record(kVersion);
  const std::string kept = record(scalar("a", 1, 1.0F));
  const std::string path =
      folder.write("in", head + kept + record(scalar("b", 1, 1.0F)) + std::string(100, '\0') + kept);
  const Result result = survey(path);
  std::vector<SeriesRule> rules(result.series.size());
  CHECK(rules.size() == 2);
  rules[1].drop = true;
  RewriteOptions options;
  CHECK(rewrite_run(result, {path}, 0, rules, options, "").state == RewriteState::damaged);
  options.repair = true;
  const std::string target = folder.file("out");
  const RewriteReport report = rewrite_run(result, {path}, 0, rules, options, target);
  CHECK(report.state == RewriteState::done);
  CHECK(report.dropped_rule == 1 && report.lost_places == 1 && report.lost_bytes == 100);
  CHECK(Folder::read(target) == head + kept + kept);
}

TEST(a_record_that_a_repair_removes_is_lost_and_not_dropped) {
  Folder folder;
  const std::string kept = record(kVersion) + record(scalar("a", 1, 1.0F));
  const std::string bad = record("not an event");
  const std::string path = folder.write("in", kept + bad + kept);
  const Result result = survey(path);
  RewriteOptions options;
  options.repair = true;
  std::vector<SeriesRule> rules(result.series.size());
  for (const bool renamed : {false, true}) {
    if (renamed) rules[0] = {false, true, "b"};
    const RewriteReport report = rewrite_run(result, {path}, 0, rules, options, "");
    CHECK(report.records_in == 4 && report.records_out == 4);
    CHECK(report.lost_places == 1 && report.lost_bytes == bad.size());
  }
}

TEST(rewrite_reports_files_that_it_cannot_open) {
  Folder folder;
  const std::string path = folder.write("in", record(kVersion));
  const Result result = survey(path);
  const RewriteReport lost = rewrite_run(result, {path + "x"}, 0, {}, {}, "");
  CHECK(lost.state == RewriteState::unreadable && lost.error == ENOENT);
  const RewriteReport existing = rewrite_run(result, {path}, 0, {}, {}, path);
  CHECK(existing.state == RewriteState::unwritable && existing.error == EEXIST);
}
