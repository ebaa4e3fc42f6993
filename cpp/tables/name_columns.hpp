// The columns display_name and description.
#pragma once

#include "bytes/utf8.hpp"
#include "tables/expander.hpp"

namespace tbq {

// Uses the event's own metadata, or else the tag's first.
class NameColumns {
 public:
  explicit NameColumns(Expander& table)
      : display_name_(table, "display_name"), description_(table, "description") {}
  void append(const Value& value) {
    const TagMetadata* known = &value.series->metadata;
    TagMetadata own;
    if (value.row->metadata) {
      parse_metadata(value.metadata, own);
      if (own.display_name.empty()) own.display_name = known->display_name;
      if (own.description.empty()) own.description = known->description;
      known = &own;
    }
    display_name_.append_or_null(valid_utf8(known->display_name));
    description_.append_or_null(valid_utf8(known->description));
  }

 private:
  StringColumn display_name_, description_;
};

}  // namespace tbq
