// The rows that a follower retracts, as a table.
#pragma once

#include <vector>

#include "live/live_run.hpp"
#include "tables/arrow_abi.hpp"

namespace tbq {

void export_retracted(const std::vector<RetractedRow>& rows, ArrowArrayStream* out);

}  // namespace tbq
