// From the decoded parts of a run to its ordered rows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tbq/decode.hpp"

namespace tbq {

// What one thread has made so far: rows of consecutive runs, and the series they belong to.
class Sealer {
 public:
  Sealer(const DecodeOptions& options, Pool& pool) : options_(options), pool_(pool) {}

  // Takes all parts of one run, in the order of its files and inside each by offset.
  void seal(uint32_t run, const std::vector<std::shared_ptr<Part>>& parts,
            const std::vector<FileReport>& files);
  void finish() { close(); }

  std::vector<SeriesReport> series;
  std::vector<SessionReport> session_reports;
  std::vector<SegmentReport> segment_reports;
  std::vector<ScalarBatch> scalars;
  BlobTable blobs[kKindCount];
  std::vector<std::shared_ptr<Part>> held;

 private:
  struct Source;
  struct Ordered;
  void seal_scalars(SeriesReport& report, std::vector<Source>& sources, const Ordered& sessions);
  void reserve_blobs(const std::vector<std::shared_ptr<Part>>& parts);
  void seal_blobs(SeriesReport& report, std::vector<Source>& sources, const Ordered& sessions);
  void emit(ScalarSeries& from, uint64_t begin, uint64_t end);
  void copy_rows(const ScalarChunk& chunk, uint32_t begin, uint32_t rows);
  void close();

  const DecodeOptions& options_;
  Pool& pool_;
  Pool::Block packed_;
  uint32_t packed_rows_ = 0;
  std::vector<ScalarBatch::Span> packed_spans_;
};

}  // namespace tbq
