// Changing an Event without decoding it: touched fields are encoded again, every other byte is copied as it
// is.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "bytes/cursor.hpp"

namespace tbq {

// What happens to a value of an Event, or to several in a row.
struct ValueEdit {
  bool drop = false;
  const std::string* tag = nullptr;  // the new tag, null if it stays
  Bytes metadata;                    // a SummaryMetadata to add, empty for none
  uint64_t count = 1;                // values in a row

  bool is_same(const ValueEdit& other) const {
    return drop == other.drop && tag == other.tag && metadata.data() == other.metadata.data() &&
           metadata.size() == other.metadata.size();
  }
  bool any() const { return drop || tag || !metadata.empty(); }
};

enum class Edited { kept, empty, malformed };

// Writes the edited Event to `out`. `values` are in the order in which walk_event lists them; values beyond
// them stay. `step`, if given, replaces the event's step. `empty` if values were dropped and nothing else was
// in the event but its time and step; `malformed` if the protobuf cannot be read: then `out` is not to be
// used.
Edited edit_event(Bytes event, std::span<const ValueEdit> values, const int64_t* step, std::string& out);

// Appends the wall time of an Event, which makes one by itself.
void append_wall_time(std::string& out, double wall_time);

// Appends the Event that begins a session.
void append_file_version(std::string& out, double wall_time);

}  // namespace tbq
