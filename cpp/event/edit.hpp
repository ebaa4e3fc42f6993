// Changes an Event without decoding it: encodes changed fields again and copies every other byte.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "bytes/cursor.hpp"

namespace tbq {

// The change to one value of an Event, or to several consecutive ones.
struct ValueEdit {
  bool drop = false;
  const std::string* tag = nullptr;  // the new tag, or null to keep the tag
  Bytes metadata;                    // a SummaryMetadata to add, empty for none
  uint64_t count = 1;                // how many consecutive values

  bool is_same(const ValueEdit& other) const {
    return drop == other.drop && tag == other.tag && metadata.data() == other.metadata.data() &&
           metadata.size() == other.metadata.size();
  }
  bool any() const { return drop || tag || !metadata.empty(); }
};

enum class Edited { kept, empty, malformed };

// Writes the edited Event to `out`. `values` are in the order in which walk_event lists them; values beyond
// them stay. `step`, if not null, replaces the event's step. Returns `empty` if values were dropped and only
// time and step are left, and `malformed` if the protobuf cannot be read: then `out` must not be used.
Edited edit_event(Bytes event, std::span<const ValueEdit> values, const int64_t* step, std::string& out);

// Appends the wall time of an Event. These bytes alone are a complete Event.
void append_wall_time(std::string& out, double wall_time);

// Appends the Event that begins a session.
void append_file_version(std::string& out, double wall_time);

}  // namespace tbq
