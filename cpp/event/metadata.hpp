// SummaryMetadata: a tag's description of itself, and its plugin's bytes.
#pragma once

#include <cstdint>
#include <string>

#include "bytes/cursor.hpp"

namespace tbq {

// The metadata of a tag; the first occurrence counts.
struct TagMetadata {
  std::string plugin;
  std::string display_name;
  std::string description;
  uint32_t data_class = 0;
};
// Returns false if `bytes` are malformed.
bool parse_metadata(Bytes bytes, TagMetadata& out);

// plugin_data.content of a SummaryMetadata.
Bytes plugin_content(Bytes metadata);

}  // namespace tbq
