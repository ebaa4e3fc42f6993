// The scalars of a result as a table.
#pragma once

#include <string>
#include <vector>

#include "decode/result.hpp"
#include "tables/arrow_abi.hpp"

namespace tbq {

// Run and tag as dictionaries over `runs` and all tags. The batches are moved out.
void export_scalars(Result& result, const std::vector<std::string>& runs, ArrowArrayStream* out);

}  // namespace tbq
