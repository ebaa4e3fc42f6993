// Opens the segment of a session at its first value.
#include "decode/segments.hpp"

namespace tbq {

void Segments::begin(uint32_t session, uint64_t stored) {
  finish(stored);
  Segment segment;
  segment.session = session_ = session;
  segment.begin = segment.end = stored;
  all.push_back(segment);
  open_ = &all.back();
}

}  // namespace tbq
