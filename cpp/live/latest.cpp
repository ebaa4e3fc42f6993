// Finds the last visible row of each series.
#include "live/latest.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "live/live_run.hpp"

namespace tbq {
namespace {

// The visible rows of a series in one session of one part.
struct Piece {
  uint32_t session = 0;
  size_t part = 0;
  const ScalarSeries* scalars = nullptr;
  const BlobRows* blobs = nullptr;
  const Stretches* stretches = nullptr;

  auto place() const { return std::pair(session, part); }
  uint64_t count() const {
    uint64_t rows = 0;
    for (const Stretch& stretch : *stretches) rows += stretch.end - stretch.begin;
    return rows;
  }
  // The index in the part of the visible row with `after` visible rows after it.
  uint64_t from_end(uint64_t after) const {
    for (auto at = stretches->rbegin(); at != stretches->rend(); ++at) {
      const uint64_t rows = at->end - at->begin;
      if (after < rows) return at->end - 1 - after;
      after -= rows;
    }
    return stretches->front().begin;
  }
};

struct Row {
  int64_t step = 0;
  double wall_time = 0;
  double value = 0;
};

Row row_of(const Piece& piece, uint64_t at) {
  if (piece.blobs) {
    const BlobRow& row = (*piece.blobs)[static_cast<size_t>(at)];
    return {row.step, row.wall_time, 0};
  }
  for (const ScalarChunk& chunk : piece.scalars->chunks) {
    if (at < chunk.rows) return {chunk.steps()[at], chunk.wall_times()[at], chunk.values()[at]};
    at -= chunk.rows;
  }
  return {};
}

}  // namespace

std::vector<Latest> LiveRun::latest(uint64_t back) const {
  const Parts parts = all_parts();
  const RunSessions sessions = order(parts);
  std::map<std::pair<std::string_view, Kind>, std::vector<Piece>> series;
  for (size_t part = 0; part < parts.size(); ++part) {
    for (const auto& entry : parts[part]->tags.all) {
      const auto take = [&](const Segments& segments, Kind kind, const ScalarSeries* scalars,
                            const BlobRows* blobs) {
        for (const Segment& segment : segments.all) {
          const auto found = delivered_.find(&segment);
          if (found == delivered_.end() || found->second.empty()) continue;
          series[{entry->tag, kind}].push_back(
              {sessions.places[part][segment.session], part, scalars, blobs, &found->second});
        }
      };
      take(entry->scalars.segments, Kind::scalars, &entry->scalars, nullptr);
      for (const auto& [kind, blobs] : entry->blobs) {
        take(blobs.segments, static_cast<Kind>(kind), nullptr, &blobs.rows);
      }
    }
  }
  std::vector<Latest> found;
  for (auto& [key, pieces] : series) {
    std::stable_sort(pieces.begin(), pieces.end(),
                     [](const Piece& a, const Piece& b) { return a.place() < b.place(); });
    Latest latest;
    latest.tag = key.first;
    latest.kind = key.second;
    for (const Piece& piece : pieces) {
      latest.count += piece.count();
      if (&piece == pieces.data() || piece.session == (&piece - 1)->session) continue;
      const Row first = row_of(piece, piece.stretches->front().begin);
      latest.takeovers.emplace_back(first.step, first.wall_time);
    }
    const Row last = row_of(pieces.back(), pieces.back().from_end(0));
    latest.step = last.step;
    latest.wall_time = last.wall_time;
    latest.value = last.value;
    // Only rows of the last session, because nothing ran between two sessions.
    const uint32_t session = pieces.back().session;
    uint64_t passed = 0;
    Row earlier = last;
    for (auto piece = pieces.rbegin(); piece != pieces.rend() && piece->session == session; ++piece) {
      const uint64_t rows = piece->count(), inside = std::min(back - passed, rows - 1);
      earlier = row_of(*piece, piece->from_end(inside));
      latest.earlier_rows = passed + inside;
      if (passed + rows > back) break;
      passed += rows;
    }
    latest.earlier_step = earlier.step;
    latest.earlier_wall_time = earlier.wall_time;
    found.push_back(std::move(latest));
  }
  return found;
}

}  // namespace tbq
