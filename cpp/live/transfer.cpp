// Transfers delivered rows between two decodes of a part.
#include "live/transfer.hpp"

#include <bit>

namespace tbq {
namespace {

bool same(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

template <class Same>
void transfer_segments(const std::vector<Segment>& before, const std::vector<Segment>& now,
                       Delivered& delivered, Same&& same_rows) {
  for (size_t i = 0; i < before.size() && i < now.size(); ++i) {
    const Segment& from = before[i];
    const Segment& to = now[i];
    if (from.session != to.session || from.begin != to.begin || from.end > to.end) return;
    if (!same_rows(from.begin, from.end)) return;
    auto found = delivered.extract(&from);
    if (found.empty()) continue;
    delivered.erase(&to);
    found.key() = &to;
    delivered.insert(std::move(found));  // as many entries as before, so the table need not grow
    if (from.end < to.end) return;       // later rows are new
  }
}

}  // namespace

void transfer(const Part& before, const Part& now, Delivered& delivered) noexcept {
  for (const auto& entry : before.tags.all) {
    const TagEntry* match = now.tags.find(entry->tag);
    if (!match) continue;
    const ScalarSeries& from = entry->scalars;
    const ScalarSeries& to = match->scalars;
    transfer_segments(from.segments.all, to.segments.all, delivered, [&](uint64_t begin, uint64_t end) {
      for (uint64_t row = begin; row < end; ++row) {
        const ScalarRow a = from.row(row);
        const ScalarRow b = to.row(row);
        if (a.step != b.step || !same(a.wall_time, b.wall_time) || !same(a.value, b.value)) return false;
      }
      return true;
    });
    for (const auto& of_kind : entry->blobs) {
      const BlobSeries& series = of_kind.second;  // not a structured binding: clang 14 cannot capture those
      const BlobSeries* other = match->blobs.find(of_kind.first);
      if (!other) continue;
      const BlobSeries& blobs = *other;
      transfer_segments(series.segments.all, blobs.segments.all, delivered,
                        [&](uint64_t begin, uint64_t end) {
                          for (uint64_t row = begin; row < end; ++row) {
                            const BlobRow& a = series.rows[row];
                            const BlobRow& b = blobs.rows[row];
                            if (a.step != b.step || !same(a.wall_time, b.wall_time) || a.record != b.record ||
                                a.payload_length != b.payload_length) {
                              return false;
                            }
                          }
                          return true;
                        });
    }
  }
}

}  // namespace tbq
