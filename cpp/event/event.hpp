// The protobuf walk of Event and Summary: finds where the values lie, decodes none of them.
#pragma once

#include <cstdint>
#include <vector>

#include "event/fields.hpp"
#include "event/kind.hpp"

namespace tbq {

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

// Where the walk over the values of an event goes on.
struct ValuesPlace {
  Range summary;       // what is left of a summary
  uint64_t field = 0;  // the first field of the event after it
};

// The values come in portions, so that an event of millions of empty ones takes no more memory than others.
struct EventRef {
  double wall_time = 0;
  int64_t step = 0;
  uint32_t what = 0;  // the number of the last field that says what the event is: protobuf keeps that one
  bool has_source_metadata = false;
  bool has_file_version = false;
  Range file_version;
  Range writer;  // source_metadata.writer
  bool session_start = false;
  bool strange = false;          // has fields that no writer is known for, or a value without one
  std::vector<ValueRef> values;  // a portion: the first ones, until next_values() is called
  uint64_t earlier = 0;          // values in the portions before
  bool more = false;             // there are others
  ValuesPlace next;              // where they begin
  size_t most = 4096;            // in a portion

  void clear();
  // Whether the portion is all there is.
  bool complete() const { return earlier == 0 && !more; }
};

// Finds everything in the Event that `source` holds. False if the protobuf is malformed; what was found
// until then stays in `out`.
template <class Source>
bool walk_event(Source& source, EventRef& out);

// Puts the next portion in place of the one at hand, if there are more.
template <class Source>
void next_values(Source& source, EventRef& event);

// Calls `take` with each value of an event that was walked, in order.
template <class Source, class Take>
void each_value(Source& source, EventRef& event, Take&& take) {
  if (event.earlier > 0) {  // once more, from the first
    event.earlier = 0;
    event.values.clear();
    event.next = {};
    event.more = true;
    next_values(source, event);
  }
  for (;;) {
    for (const ValueRef& value : event.values) take(value);
    if (!event.more) return;
    next_values(source, event);
  }
}

}  // namespace tbq
