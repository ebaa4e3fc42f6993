// Where a run that is logged again goes on.
#pragma once

#include <cstdint>
#include <optional>

#include "bytes/cursor.hpp"

namespace tbq {

// The largest step among the valid records found anywhere in `tail`, the last bytes of an event file.
std::optional<int64_t> last_step(Bytes tail);

}  // namespace tbq
