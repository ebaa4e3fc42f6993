// What a writer reads from records: the step where a resumed run continues, and when pending records begin.
#pragma once

#include <cstdint>
#include <optional>

#include "bytes/cursor.hpp"

namespace tbq {

// The largest step of the valid records found anywhere in `tail`, the last bytes of an event file.
std::optional<int64_t> last_step(Bytes tail);

// The wall time of the first record; 0 if it has none. `records` are complete.
double first_wall_time(Bytes records);

}  // namespace tbq
