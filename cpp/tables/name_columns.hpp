// The columns display_name and description.
#pragma once

#include "bytes/utf8.hpp"
#include "tables/expander.hpp"
#include "tables/text_columns.hpp"

namespace tbq {

// Uses the event's own metadata, or else the tag's first.
class NameColumns {
 public:
  void append(const Value& value) {
    const TagMetadata* known = &value.series->metadata;
    TagMetadata own;
    if (value.row->metadata) {
      parse_metadata(value.metadata, own);
      if (own.display_name.empty()) own.display_name = known->display_name;
      if (own.description.empty()) own.description = known->description;
      known = &own;
    }
    append_text_or_null(display_name_, valid_utf8(known->display_name));
    append_text_or_null(description_, valid_utf8(known->description));
  }
  void finish(Batch& batch) {
    batch.columns.push_back(display_name_.finish("display_name"));
    batch.columns.push_back(description_.finish("description"));
  }

 private:
  TextBuilder display_name_, description_;
};

}  // namespace tbq
