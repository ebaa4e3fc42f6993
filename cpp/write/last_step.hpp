// What a writer reads of records: where a run that is logged again goes on, and when pending records begin.
#pragma once

#include <cstdint>
#include <optional>

#include "bytes/cursor.hpp"

namespace tbq {

// The largest step among the valid records found anywhere in `tail`, the last bytes of an event file.
std::optional<int64_t> last_step(Bytes tail);

// The wall time of the first of some complete records; 0 if it has none.
double first_wall_time(Bytes records);

}  // namespace tbq
