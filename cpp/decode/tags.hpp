// Everything known about each tag in one part of a file.
#pragma once

#include <cstdint>
#include <forward_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decode/blob_rows.hpp"
#include "decode/event_template.hpp"
#include "decode/histogram_columns.hpp"
#include "decode/scalar_series.hpp"
#include "event/dtype.hpp"
#include "event/metadata.hpp"

namespace tbq {

// The values of one tag and one kind other than scalars.
struct BlobSeries {
  BlobRows rows;
  Segments segments;
  std::unique_ptr<HistogramColumns> histograms;  // null until there are histograms
};

// The series of one tag by kind: most often none or one. Their addresses stay valid.
class BlobsByKind {
 public:
  BlobSeries& operator[](uint8_t kind);
  // Null if there is none.
  const BlobSeries* find(uint8_t kind) const;
  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  std::forward_list<std::pair<const uint8_t, BlobSeries>> all_;
};

// The first SummaryMetadata of a tag in one session.
struct SessionMetadata {
  uint32_t session = 0;  // index into the part's sessions
  std::shared_ptr<const TagMetadata> parsed;
  Bytes bytes;
};

// Everything known about one tag in one part.
struct TagEntry {
  TagEntry* next = this;  // see TagPredictor
  ScalarTemplate scalar_template;
  ScalarSeries scalars;
  std::string tag;
  bool selected = true;
  // The plugin that decides the kind of its tensors: the one in the run's first metadata. Until that is known
  // it is assumed to be "", and a part with a wrong assumption is decoded again (see PartOptions::plugins).
  std::string plugin;
  bool plugin_known = false;
  bool assumed = false;  // a value's kind was decided by an assumed plugin
  uint16_t fields = 0;   // the fields of its verified values, one bit each
  uint64_t leads = 0;    // the first bytes of their messages; see lead_bit()
  bool passed = false;   // a record that names it may have been skipped unverified
  bool begun = false;    // there is a first value, which the next two members describe
  ValueField first_field = ValueField::none;
  bool first_has_metadata = false;
  // The metadata in this part; sessions later in the file may have begun earlier.
  std::vector<SessionMetadata> metadata;
  uint64_t dtype = 0;  // the number of its first tensor's dtype
  std::unique_ptr<BlobTemplate> blob_template;
  uint64_t rounded = 0;  // integers that float64 cannot hold
  uint64_t refused = 0;  // values of a scalar tag that are not exactly one number
  BlobsByKind blobs;

  // The kinds of its verified values.
  Kinds kinds() const;

  // Makes the decoder treat the tag's next value like its first.
  void forget_templates() {
    scalar_template = {};
    blob_template.reset();
  }
};

// The bit for the first byte of a message: its first field and that field's type distinguish most messages.
constexpr uint64_t lead_bit(uint8_t byte) { return uint64_t{1} << (byte & 63); }

class TagTable {
 public:
  TagEntry* find(std::string_view tag) const {
    if (places_.empty()) return nullptr;
    const uint32_t place = places_[slot_of(tag)];
    return place == 0 ? nullptr : all[place - 1].get();
  }
  // Adds a tag that is not in the table yet.
  TagEntry& add(std::string_view tag);
  std::vector<std::unique_ptr<TagEntry>> all;

 private:
  // The tag's slot in `places_`, or the free slot where it belongs.
  size_t slot_of(std::string_view tag) const;
  // A hash table of positions in `all`, from 1; 0 is free, and at least a quarter of the slots are. It is
  // small because a part may have few tags, and a follower keeps very many parts.
  std::vector<uint32_t> places_;
};

}  // namespace tbq
