// The series of a result as a table.
#pragma once

#include <string>
#include <vector>

#include "decode/result.hpp"
#include "tables/arrow_abi.hpp"

namespace tbq {

// What was seen of each (run, tag, kind), over `runs`.
void export_series(const Result& result, const std::vector<std::string>& runs, ArrowArrayStream* out);

}  // namespace tbq
