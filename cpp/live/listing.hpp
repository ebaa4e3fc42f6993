// What there is of each series of a run, for views that list them as TensorBoard does.
#pragma once

#include <cstdint>
#include <string>

#include "event/kind.hpp"
#include "event/metadata.hpp"

namespace tbq {

struct SeriesListing {
  std::string tag;
  Kind kind = Kind::scalars;
  ValueField field = ValueField::none;  // that held its first value
  // Of the first value of the tag, of whatever kind: the field, and whether metadata stands on it.
  ValueField began_as = ValueField::none;
  bool began_with_metadata = false;
  uint64_t count = 0;  // visible rows
  int64_t max_step = 0;
  double max_wall_time = 0;
  double first_wall_time = 0;
  int64_t last_step = 0;
  double last_wall_time = 0;
  double last_value = 0;  // of a scalar
  bool has_metadata = false;
  TagMetadata metadata;
  std::string content;   // of its plugin
  uint64_t refused = 0;  // values of a scalar tag that are not exactly one number
};

}  // namespace tbq
