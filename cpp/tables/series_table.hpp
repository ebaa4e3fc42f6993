// Exports the series of a result as a table.
#pragma once

#include <string>
#include <vector>

#include "decode/result.hpp"
#include "tables/arrow_abi.hpp"

namespace tbq {

// One row per (run, tag, kind) with all that was seen of it; `runs` are the names.
void export_series(const Result& result, const std::vector<std::string>& runs, ArrowArrayStream* out);

}  // namespace tbq
