// Turns the decoded parts of a run into rows, tag by tag, with restarts resolved.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "decode/delivered.hpp"
#include "decode/scalar_packer.hpp"
#include "decode/sessions.hpp"

namespace tbq {

// The output of one thread so far: rows of consecutive runs, and their series.
class Joiner {
 public:
  // Takes the memory of the parts, unless the parts are kept because they will be joined again.
  Joiner(const DecodeOptions& options, Pool& pool, bool keeps_parts = false)
      : options_(options), pool_(pool), keeps_parts_(keeps_parts), packer_(pool, keeps_parts) {}

  // From now on, returns only rows that are new; null for all rows. Parts must be kept.
  void set_delivery(Delivery* delivery) { delivery_ = delivery; }

  // Adds the rows of a run. Returns false, and adds nothing, if the rows must be counted but the parts stored
  // no steps. With `stored` they did: a step that is missing was not asked for.
  bool add(uint32_t run, const Parts& parts, const RunSessions& sessions, bool stored = false);
  void finish() { packer_.finish(); }

  std::vector<ScalarBatch>& scalars() { return packer_.batches; }

  std::vector<SeriesReport> series;
  std::vector<SessionReport> session_reports;
  std::vector<SegmentReport> segment_reports;
  BlobTable blobs[kKindCount];
  Parts held;

 private:
  // One series of one part: scalars or blobs, with its segments mapped to the run's sessions.
  struct Source {
    ScalarSeries* scalars = nullptr;
    const BlobSeries* blobs = nullptr;
    size_t part = 0;  // a session may continue through several parts of its file
    const std::vector<Segment>& segments() const {
      return scalars ? scalars->segments.all : blobs->segments.all;
    }
  };
  void add_series(std::span<const TagOfPart> entries, uint32_t run, const RunSessions& sessions);
  void add_scalars(SeriesReport& report, std::vector<Source>& sources, const RunSessions& sessions);
  void add_blobs(SeriesReport& report, std::vector<Source>& sources, const RunSessions& sessions);
  bool counted(const SeriesReport& report) const;
  void reserve_blobs(const Parts& parts);

  bool is_new(std::span<const TagOfPart> entries, const Parts& parts) const;

  const DecodeOptions& options_;
  Pool& pool_;
  Delivery* delivery_ = nullptr;
  bool keeps_parts_;
  uint32_t session_base_ = 0;  // index of this run's first session in the report
  bool uncounted_ = false;     // rows were dropped that are not stored
  bool blobs_kept_ = false;
  ScalarPacker packer_;
};

// Appends the rows of a Joiner to a result, after the runs that it already has.
void append_rows(Result& to, Joiner& from);

}  // namespace tbq
