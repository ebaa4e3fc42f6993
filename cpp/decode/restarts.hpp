// Decides which rows of a series a restart policy keeps, from what is known of its sessions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decode/part.hpp"

namespace tbq {

enum class Restarts : uint8_t { resume, keep, last, tensorboard };

// A session of a run, over all of its files.
struct RunSession {
  uint32_t file = 0;  // index into the run's files
  std::string_view path;
  uint64_t offset = 0;
  TimeSpan times;  // `begin`: the earlier of its first record and its first event
  StartStep start;
  bool is_below = false;  // see decode/below.hpp
};

// One segment of a series, in the order of the run; `steps` are the steps of its stored rows.
struct SegmentRef {
  const Segment* segment = nullptr;
  uint32_t session = 0;  // index into the ordered sessions
};

// The order of sessions: by time, then by name with digits compared as numbers; or by path and offset only.
// Those below the run come first: they have no series in common with the others, and only its own sessions
// grow.
std::vector<uint32_t> order_sessions(std::span<const RunSession> sessions, bool by_path);

bool natural_less(std::string_view a, std::string_view b);

// As a limit: drop nothing. (So a restart at the very last step of int64 drops nothing either.)
constexpr int64_t kNoLimit = INT64_MAX;

// The first session that began after this one ended, among those that can replace its rows; one past these if
// there is none.
size_t first_later(std::span<const RunSession> ordered, size_t session);

// For each session, in order: the START of a later session drops its points with step >= this. Sessions below
// the run and its own ones have no effect on each other.
std::vector<int64_t> start_limits(std::span<const RunSession> ordered);

// For each segment of one series (in order of session): rows with step >= limit are dropped. Resume policy.
std::vector<int64_t> resume_limits(std::span<const RunSession> ordered, std::span<const SegmentRef> segments,
                                   std::span<const int64_t> starts);

// For "last" and "tensorboard": which rows (by their steps, in order) stay.
std::vector<bool> keep_last(std::span<const int64_t> steps);
std::vector<bool> keep_tensorboard(std::span<const int64_t> steps);

}  // namespace tbq
