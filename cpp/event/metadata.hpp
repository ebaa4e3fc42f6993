// SummaryMetadata: what a tag says of itself, and the bytes of its plugin.
#pragma once

#include <cstdint>
#include <string>

#include "bytes/cursor.hpp"

namespace tbq {

// What the metadata of a tag says, first seen first kept.
struct TagMetadata {
  std::string plugin;
  std::string display_name;
  std::string description;
  uint32_t data_class = 0;
};
// False if it is malformed.
bool parse_metadata(Bytes bytes, TagMetadata& out);

// plugin_data.content of a SummaryMetadata.
Bytes plugin_content(Bytes metadata);

}  // namespace tbq
