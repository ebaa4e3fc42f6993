// Tests spans of steps and times: adding values in pieces, however divided, equals adding them at once.
#include "event/span.hpp"

#include <cmath>
#include <vector>

#include "tests/check.hpp"

namespace {

bool same(const tbq::Span& a, const tbq::Span& b) {
  return a.steps.count == b.steps.count && a.steps.first == b.steps.first && a.steps.last == b.steps.last &&
         a.steps.min == b.steps.min && a.steps.max == b.steps.max && a.first_wall_time == b.first_wall_time &&
         a.last_wall_time == b.last_wall_time;
}
bool same(const tbq::TimeSpan& a, const tbq::TimeSpan& b) {
  return a.known == b.known && a.begin == b.begin && a.earliest == b.earliest && a.end == b.end;
}

}  // namespace

TEST(spans_do_not_depend_on_how_they_are_divided) {
  const std::vector<int64_t> steps = {5, 7, 3, INT64_MIN, 7, INT64_MAX, 0};
  const std::vector<double> wall_times = {0, std::nan(""), -5, 0, 3, HUGE_VAL, 2};
  tbq::Span all;
  tbq::TimeSpan times;
  for (size_t i = 0; i < steps.size(); ++i) {
    all.add(steps[i], static_cast<double>(i));
    times.add(wall_times[i]);
  }
  CHECK(all.steps.count == 7 && all.steps.first == 5 && all.steps.last == 0);
  CHECK(all.steps.min == INT64_MIN && all.steps.max == INT64_MAX);
  CHECK(times.known && times.begin == -5 && times.earliest == -5 && times.end == HUGE_VAL);
  for (size_t first = 0; first <= steps.size(); ++first) {
    for (size_t second = first; second <= steps.size(); ++second) {
      tbq::Span spans[3];
      tbq::TimeSpan parts[3];
      for (size_t i = 0; i < steps.size(); ++i) {
        const size_t part = i < first ? 0 : i < second ? 1 : 2;
        spans[part].add(steps[i], static_cast<double>(i));
        parts[part].add(wall_times[i]);
      }
      for (const size_t part : {1, 2}) {
        spans[0].merge(spans[part]);
        parts[0].merge(parts[part]);
      }
      CHECK(same(spans[0], all) && same(parts[0], times));
    }
  }
}

TEST(an_absent_wall_time_is_ignored) {
  tbq::TimeSpan times;
  times.add(0);
  times.add(std::nan(""));
  CHECK(!times.known && times.start() == 0);
  times.add(-5);
  times.add(0);
  CHECK(times.known && times.begin == -5 && times.end == -5 && times.start() == -5);
}
