// The protobuf walk of Event and Summary: finds where the values are, without decoding them.
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
  Range payload;     // the field that `field` names
  Range metadata;    // SummaryMetadata
  uint64_t end = 0;  // the end of the entire Value in the record's payload
};

// Where the walk over an event's values continues.
struct ValuesPlace {
  Range summary;       // the rest of a summary
  uint64_t field = 0;  // the event's first field after it
};

// Values come in portions, so that an event with millions of empty values takes no more memory than any
// other.
struct EventRef {
  double wall_time = 0;
  int64_t step = 0;
  uint32_t what = 0;  // the number of the last field of the oneof `what`: protobuf keeps the last
  bool has_source_metadata = false;
  bool has_file_version = false;
  Range file_version;
  Range writer;  // source_metadata.writer
  bool session_start = false;
  uint64_t end = 0;              // that a session stopped, as a Status of the hparams plugin; 0 if it did not
  bool strange = false;          // has fields that no known writer writes, or a value without content
  std::vector<ValueRef> values;  // the current portion: the first one, until next_values() is called
  uint64_t earlier = 0;          // number of values in earlier portions
  bool more = false;             // there are further portions
  ValuesPlace next;              // where the next portion begins
  size_t most = 4096;            // limit of values per portion

  // Keeps the memory of the values.
  void clear() {
    EventRef empty;
    empty.most = most;
    empty.values = std::move(values);
    empty.values.clear();
    *this = std::move(empty);
  }
  // Whether the current portion holds all values.
  bool complete() const { return earlier == 0 && !more; }
};

// Finds everything in the Event that `source` holds. Returns false if the protobuf is malformed; `out` keeps
// what was found up to that point.
template <class Source>
bool walk_event(Source& source, EventRef& out);

// Replaces the current portion by the next one, if there is one.
template <class Source>
void next_values(Source& source, EventRef& event);

// Calls `take` with each value of a walked event, in order.
template <class Source, class Take>
void each_value(Source& source, EventRef& event, Take&& take) {
  if (event.earlier > 0) {  // walk again, from the first value
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
