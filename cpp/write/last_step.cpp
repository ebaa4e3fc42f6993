// Searches the tail of a file for records: the tail may begin anywhere.
#include "write/last_step.hpp"

#include "event/event.hpp"
#include "record/framing.hpp"

namespace tbq {

std::optional<int64_t> last_step(Bytes tail) {
  std::optional<int64_t> last;
  EventRef event;
  while (true) {
    tail = tail.subspan(find_header(tail, UINT64_MAX));
    if (tail.empty()) return last;
    Cursor cursor(tail.subspan(kHeader));
    Bytes payload;
    uint32_t crc;
    if (!cursor.bytes(load_le<uint64_t>(tail.data()), payload) || !cursor.fixed(crc) ||
        !payload_agrees(payload.data(), payload.size(), crc)) {
      tail = tail.subspan(1);
      continue;
    }
    tail = cursor.rest();
    MemorySource source(payload);
    event.clear();
    walk_event(source, event);
    if (!event.values.empty() && (!last || event.step > *last)) last = event.step;
  }
}

double first_wall_time(Bytes records) {
  Cursor cursor(records);
  uint64_t length;
  uint32_t crc;
  Bytes payload;
  if (!cursor.fixed(length) || !cursor.fixed(crc) || !cursor.bytes(length, payload)) return 0;
  MemorySource source(payload);
  EventRef event;
  walk_event(source, event);
  return event.wall_time;
}

}  // namespace tbq
