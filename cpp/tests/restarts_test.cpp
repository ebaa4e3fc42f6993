// Tests the order of sessions and the restart policies.
#include "decode/restarts.hpp"

#include "tests/check.hpp"

namespace {

using tbq::RunSession;

RunSession session(double begin, double end, std::string_view path = "f") {
  RunSession session;
  session.path = path;
  session.times = {true, begin, begin, end};
  return session;
}

}  // namespace

TEST(names_are_compared_with_digits_as_numbers) {
  CHECK(tbq::natural_less("a.2", "a.10") && !tbq::natural_less("a.10", "a.2"));
  CHECK(tbq::natural_less("a.9.x", "a.10") && tbq::natural_less("a", "a.1"));
  CHECK(tbq::natural_less("1.v2", "2") &&
        tbq::natural_less("a99999999999999999999", "a100000000000000000000"));
  CHECK(tbq::natural_less("a01", "a1") != tbq::natural_less("a1", "a01"));  // any order, but always the same
  CHECK(!tbq::natural_less("a1", "a1") && tbq::natural_less("", "a") && !tbq::natural_less("", ""));
}

TEST(sessions_are_ordered_by_time_then_by_name) {
  const std::vector<RunSession> all = {session(5, 6, "f.10"), session(5, 6, "f.9"), session(1, 9, "f.99")};
  CHECK((tbq::order_sessions(all, false) == std::vector<uint32_t>{2, 1, 0}));
  CHECK((tbq::order_sessions(all, true) == std::vector<uint32_t>{0, 1, 2}));
}

TEST(a_start_drops_only_from_sessions_that_had_ended) {
  std::vector<RunSession> all = {session(1, 4), session(2, 8), session(5, 9)};
  all[2].start.add(7);
  CHECK((tbq::start_limits(all) == std::vector<int64_t>{7, tbq::kNoLimit, tbq::kNoLimit}));
  all[0].start.add(0);  // nothing comes before the first session
  CHECK((tbq::start_limits(all) == std::vector<int64_t>{7, tbq::kNoLimit, tbq::kNoLimit}));
}

TEST(a_session_replaces_rows_from_its_first_step_of_a_tag) {
  const std::vector<RunSession> all = {session(1, 2), session(3, 4), session(3.5, 9)};
  tbq::Segment segments[4];
  segments[0].seen.steps.first = 0;
  segments[1].seen.steps.first = 5;
  segments[2].seen.steps.first = 1;  // a later part of the same session
  segments[3].seen.steps.first = 8;
  const std::vector<tbq::SegmentRef> refs = {
      {&segments[0], 0}, {&segments[1], 1}, {&segments[2], 1}, {&segments[3], 2}};
  const std::vector<int64_t> starts(3, tbq::kNoLimit);
  CHECK((tbq::resume_limits(all, refs, starts) ==
         std::vector<int64_t>{5, tbq::kNoLimit, tbq::kNoLimit, tbq::kNoLimit}));
}

TEST(last_and_tensorboard_keep_the_right_rows) {
  using Kept = std::vector<bool>;
  const std::vector<int64_t> steps = {1, 2, 3, 2, 3, 3};
  CHECK((tbq::keep_last(steps) == Kept{true, false, false, true, false, true}));
  CHECK((tbq::keep_tensorboard(steps) == Kept{true, false, false, true, false, true}));
  CHECK((tbq::keep_tensorboard(std::vector<int64_t>{5, 6, 1}) == Kept{false, false, true}));
  CHECK((tbq::keep_last(std::vector<int64_t>{5, 6, 1}) == Kept{true, true, true}));
  CHECK((tbq::keep_last(std::vector<int64_t>{}).empty() &&
         tbq::keep_tensorboard(std::vector<int64_t>{}).empty()));
}
