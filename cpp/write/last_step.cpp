// The tail of a file begins anywhere: records are searched for in it.
#include "write/last_step.hpp"

#include "event/schema.hpp"
#include "record/framing.hpp"

namespace tbq {

std::optional<int64_t> last_step(Bytes tail) {
  std::optional<int64_t> last;
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
    int64_t step = 0;
    bool has_summary = false;
    Field field;
    for (Cursor event(payload); event.field(field);) {
      if (field.is(schema::Event::step, Wire::varint)) step = field.as_int64();
      if (field.is(schema::Event::summary, Wire::bytes)) has_summary = true;
    }
    if (has_summary && (!last || step > *last)) last = step;
  }
}

}  // namespace tbq
