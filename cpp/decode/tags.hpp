// Everything that is known of each tag in one part of a file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "decode/blob_rows.hpp"
#include "decode/event_template.hpp"
#include "decode/histogram_columns.hpp"
#include "decode/scalar_series.hpp"
#include "event/dtype.hpp"
#include "event/metadata.hpp"

namespace tbq {

// The values of one tag and one kind that are not scalars.
struct BlobSeries {
  BlobRows rows;
  Segments segments;
  std::unique_ptr<HistogramColumns> histograms;  // once there are some
};

// The first SummaryMetadata of a tag in one session.
struct SessionMetadata {
  uint32_t session = 0;  // index into the part's sessions
  std::shared_ptr<const TagMetadata> parsed;
  Bytes bytes;
};

// Everything known of one tag in one part.
struct TagEntry {
  TagEntry* next = this;  // see TagPredictor
  ScalarTemplate scalar_template;
  ScalarSeries scalars;
  std::string tag;
  bool selected = true;
  // The plugin that decides the kind of its tensors: of the first metadata of the run. Until that is known it
  // is assumed to be "", and a part that assumed wrongly is decoded again (see PartOptions::plugins).
  std::string plugin;
  bool plugin_known = false;
  bool assumed = false;  // a value's kind was decided by an assumed plugin
  // What this part itself says: sessions that come later in the file may have begun earlier.
  std::vector<SessionMetadata> metadata;
  uint64_t dtype = 0;  // the number of that of its first tensor
  std::unique_ptr<BlobTemplate> blob_template;
  uint64_t rounded = 0;                           // integers that float64 could not hold
  uint64_t refused = 0;                           // values of a scalar tag that are not exactly one number
  std::unordered_map<uint8_t, BlobSeries> blobs;  // by kind

  // What comes next of the tag is looked at as if it were its first value.
  void forget_templates() {
    scalar_template = {};
    blob_template.reset();
  }
};

class TagTable {
 public:
  TagEntry* find(std::string_view tag) const {
    const auto found = by_name_.find(tag);
    return found == by_name_.end() ? nullptr : found->second;
  }
  TagEntry& add(std::string_view tag);
  std::vector<std::unique_ptr<TagEntry>> all;

 private:
  std::unordered_map<std::string_view, TagEntry*> by_name_;
};

}  // namespace tbq
