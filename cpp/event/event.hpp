// The protobuf walk of Event and Summary: finds where the values lie, decodes none of them.
#pragma once

#include <cstdint>
#include <vector>

#include "event/fields.hpp"
#include "event/kind.hpp"

namespace tbq {

constexpr uint64_t kLargestEvent = uint64_t{1} << 31;  // protobuf's own limit

struct ValueRef {
  ValueField field = ValueField::none;
  bool has_metadata = false;
  float scalar = 0;  // for simple_value
  Range tag;
  Range node_name;
  Range payload;     // of the field that `field` names
  Range metadata;    // SummaryMetadata
  uint64_t end = 0;  // where the whole Value ends in the record's payload
};

struct EventRef {
  double wall_time = 0;
  int64_t step = 0;
  uint32_t what = 0;  // the number of the last field that says what the event is: protobuf keeps that one
  bool has_source_metadata = false;
  bool has_file_version = false;
  Range file_version;
  Range writer;  // source_metadata.writer
  bool session_start = false;
  bool strange = false;  // has fields that no writer is known for, or a value without one
  std::vector<ValueRef> values;

  void clear();
};

// Finds everything in the Event that `source` holds. False if the protobuf is malformed; what was found
// until then stays in `out`.
template <class Source>
bool walk_event(Source& source, EventRef& out);

}  // namespace tbq
