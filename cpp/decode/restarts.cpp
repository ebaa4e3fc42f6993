// Implements the restart policies: a later session replaces what earlier ones logged at or after its first
// step.
#include "decode/restarts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tbq {

bool natural_less(std::string_view a, std::string_view b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      size_t i_end = i;
      size_t j_end = j;
      while (i_end < a.size() && digit(a[i_end])) ++i_end;
      while (j_end < b.size() && digit(b[j_end])) ++j_end;
      std::string_view x = a.substr(i, i_end - i);
      std::string_view y = b.substr(j, j_end - j);
      x.remove_prefix(std::min(x.find_first_not_of('0'), x.size()));
      y.remove_prefix(std::min(y.find_first_not_of('0'), y.size()));
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      i = i_end;
      j = j_end;
    } else {
      if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
      ++i;
      ++j;
    }
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;
}

std::vector<uint32_t> order_sessions(std::span<const RunSession> sessions, bool by_path) {
  std::vector<uint32_t> order(sessions.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t left, uint32_t right) {
    const RunSession& a = sessions[left];
    const RunSession& b = sessions[right];
    if (a.is_below != b.is_below) return a.is_below;
    if (by_path) {
      if (a.path != b.path) return a.path < b.path;
      return a.offset < b.offset;
    }
    if (a.times.begin != b.times.begin) return a.times.begin < b.times.begin;
    if (a.path != b.path) return natural_less(a.path, b.path);
    return a.offset < b.offset;
  });
  return order;
}

size_t first_later(std::span<const RunSession> ordered, size_t session) {
  const RunSession& of = ordered[session];
  const auto later = std::partition_point(
      ordered.begin() + static_cast<std::ptrdiff_t>(session), ordered.end(), [&](const RunSession& s) {
        return s.is_below == of.is_below ? !(s.times.begin > of.times.end) : s.is_below;
      });
  return static_cast<size_t>(later - ordered.begin());
}

std::vector<int64_t> start_limits(std::span<const RunSession> ordered) {
  // For session i: the smallest START step of the sessions that began after it ended.
  std::vector<int64_t> least(ordered.size(), kNoLimit);
  for (size_t i = ordered.size(); i-- > 0;) {
    const bool followed = i + 1 < ordered.size() && ordered[i + 1].is_below == ordered[i].is_below;
    least[i] = followed ? least[i + 1] : kNoLimit;
    if (ordered[i].start.known) least[i] = std::min(least[i], ordered[i].start.step);
  }
  std::vector<int64_t> limits(ordered.size(), kNoLimit);
  for (size_t i = 0; i < ordered.size(); ++i) {
    const size_t later = first_later(ordered, i);
    if (later < ordered.size() && ordered[later].is_below == ordered[i].is_below) limits[i] = least[later];
  }
  return limits;
}

std::vector<int64_t> resume_limits(std::span<const RunSession> ordered, std::span<const SegmentRef> segments,
                                   std::span<const int64_t> starts) {
  std::vector<int64_t> least(segments.size() + 1, kNoLimit);
  for (size_t i = segments.size(); i-- > 0;) {
    // If a session has several segments, its first step is that of the first segment.
    const bool first = i == 0 || segments[i - 1].session != segments[i].session;
    least[i] = first ? std::min(least[i + 1], segments[i].segment->seen.steps.first) : least[i + 1];
  }
  std::vector<int64_t> limits(segments.size(), kNoLimit);
  for (size_t i = 0; i < segments.size(); ++i) {
    const double end = ordered[segments[i].session].times.end;
    const auto later =
        std::partition_point(segments.begin() + static_cast<std::ptrdiff_t>(i), segments.end(),
                             [&](const SegmentRef& s) { return !(ordered[s.session].times.begin > end); });
    limits[i] = std::min(least[static_cast<size_t>(later - segments.begin())], starts[segments[i].session]);
  }
  return limits;
}

std::vector<bool> keep_last(std::span<const int64_t> steps) {
  std::vector<bool> keep(steps.size(), true);
  bool rising = true;
  for (size_t i = 1; i < steps.size() && rising; ++i) rising = steps[i] > steps[i - 1];
  if (rising) return keep;
  std::vector<size_t> order(steps.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return steps[a] < steps[b]; });
  for (size_t i = 1; i < order.size(); ++i) keep[order[i - 1]] = steps[order[i - 1]] != steps[order[i]];
  return keep;
}

std::vector<bool> keep_tensorboard(std::span<const int64_t> steps) {
  std::vector<bool> keep(steps.size(), true);
  std::vector<size_t> kept;
  for (size_t i = 0; i < steps.size(); ++i) {
    while (!kept.empty() && steps[kept.back()] >= steps[i]) {
      keep[kept.back()] = false;
      kept.pop_back();
    }
    kept.push_back(i);
  }
  return keep;
}

}  // namespace tbq
