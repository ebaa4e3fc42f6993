// Lists the series of a run from their visible rows.
#include "live/listing.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "live/live_run.hpp"

namespace tbq {
namespace {

// Adds the visible rows of one segment; segments of a series must come in the order of their sessions.
template <class RowOf>
void add_rows(SeriesListing& listing, const Stretches& stretches, RowOf&& row_of) {
  for (const Stretch& stretch : stretches) {
    for (uint64_t at = stretch.begin; at < stretch.end; ++at) {
      const ScalarRow row = row_of(at);
      if (listing.count++ == 0) {
        listing.max_step = row.step;
        listing.max_wall_time = listing.first_wall_time = row.wall_time;
      }
      listing.max_step = std::max(listing.max_step, row.step);
      listing.max_wall_time = std::max(listing.max_wall_time, row.wall_time);
    }
    const ScalarRow last = row_of(stretch.end - 1);
    listing.last_step = last.step;
    listing.last_wall_time = last.wall_time;
    listing.last_value = last.value;
  }
}

struct SeriesPlace {
  uint32_t session = 0;
  size_t part = 0;
  const TagEntry* entry = nullptr;
  const BlobSeries* blobs = nullptr;  // null for scalars
  const Stretches* stretches = nullptr;
};

}  // namespace

std::vector<SeriesListing> LiveRun::listing() const {
  const Parts parts = all_parts();
  const RunSessions sessions = order(parts);
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto session_of = [&](size_t part) {
    return sessions.places[part].empty() ? UINT32_MAX : sessions.places[part].front();
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return session_of(a) < session_of(b); });
  std::vector<std::vector<TagOfPart>> tags;
  NameViewMap<size_t> known_tags;
  for (const size_t part : order) {
    for (const auto& entry : parts[part]->tags.all) {
      const auto [at, fresh] = known_tags.emplace(entry->tag, tags.size());
      if (fresh) tags.emplace_back();
      tags[at->second].push_back({part, entry.get()});
    }
  }
  std::vector<SeriesListing> found;
  for (const std::vector<TagOfPart>& entries : tags) {
    SeriesListing known;
    known.tag = entries.front().entry->tag;
    known.began_as = entries.front().entry->first_field;
    known.began_with_metadata = entries.front().entry->first_has_metadata;
    if (const SessionMetadata* first = first_metadata(entries, sessions)) {
      known.has_metadata = true;
      known.metadata = *first->parsed;
      known.content = as_text(plugin_content(first->bytes));
    }
    bool tensors = false;  // the scalars are tensors, not simple values
    std::map<Kind, std::vector<SeriesPlace>> kinds;
    for (const auto& [part, entry] : entries) {
      known.refused += entry->refused;
      tensors = tensors || entry->dtype != 0;
      const auto take = [&, part = part, entry = entry](const Segments& segments, Kind kind,
                                                        const BlobSeries* blobs) {
        for (const Segment& segment : segments.all) {
          const auto visible = delivered_.find(&segment);
          if (visible == delivered_.end() || visible->second.empty()) continue;
          kinds[kind].push_back(
              {sessions.places[part][segment.session], part, entry, blobs, &visible->second});
        }
      };
      take(entry->scalars.segments, Kind::scalars, nullptr);
      for (const auto& [kind, blobs] : entry->blobs) take(blobs.segments, static_cast<Kind>(kind), &blobs);
    }
    for (auto& [kind, places] : kinds) {
      std::stable_sort(places.begin(), places.end(), [](const SeriesPlace& a, const SeriesPlace& b) {
        return std::pair(a.session, a.part) < std::pair(b.session, b.part);
      });
      SeriesListing listing = known;
      listing.kind = kind;
      listing.field = tensors ? ValueField::tensor : ValueField::simple_value;
      if (const BlobSeries* blobs = places.front().blobs)
        listing.field = blobs->rows[static_cast<size_t>(places.front().stretches->front().begin)].field;
      for (const SeriesPlace& place : places) {
        if (place.blobs) {
          add_rows(listing, *place.stretches, [&](uint64_t at) {
            const BlobRow& row = place.blobs->rows[static_cast<size_t>(at)];
            return ScalarRow{row.step, row.wall_time, 0};
          });
          continue;
        }
        uint64_t before = 0;
        for (const ScalarChunk& chunk : place.entry->scalars.chunks) {
          Stretches inside;
          for (const Stretch& stretch : *place.stretches) {
            const uint64_t low = std::max(stretch.begin, before);
            const uint64_t high = std::min(stretch.end, before + chunk.rows);
            if (low < high) inside.push_back({low - before, high - before});
          }
          add_rows(listing, inside, [&](uint64_t at) {
            return ScalarRow{chunk.steps()[at], chunk.wall_times()[at], chunk.values()[at]};
          });
          before += chunk.rows;
        }
      }
      found.push_back(std::move(listing));
    }
  }
  return found;
}

std::optional<double> LiveRun::first_event() const {
  const FileReport* first = nullptr;
  for (const auto& file : files_) {
    const FileReport& report = reports_[file->id];
    if (report.records > 0 && (!first || report.ordered_by() < first->ordered_by())) first = &report;
  }
  if (!first) return std::nullopt;
  return first->times.known ? first->times.begin : 0.0;
}

}  // namespace tbq
