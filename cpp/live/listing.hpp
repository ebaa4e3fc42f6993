// The properties of each series of a run, for views that list series as TensorBoard does.
#pragma once

#include <cstdint>
#include <string>

#include "event/kind.hpp"
#include "event/metadata.hpp"

namespace tbq {

struct SeriesListing {
  std::string tag;
  Kind kind = Kind::scalars;
  ValueField field = ValueField::none;  // the field of its first value
  // For the tag's first value of any kind: its field, and whether it carries metadata.
  ValueField began_as = ValueField::none;
  bool began_with_metadata = false;
  uint64_t count = 0;  // visible rows
  int64_t max_step = 0;
  double max_wall_time = 0;
  double first_wall_time = 0;
  int64_t last_step = 0;
  double last_wall_time = 0;
  double last_value = 0;  // for a scalar
  bool has_metadata = false;
  TagMetadata metadata;
  std::string content;   // the content of its plugin
  uint64_t refused = 0;  // values of a scalar tag that are not exactly one number
};

}  // namespace tbq
