// Exports the scalars of a result as a table.
#pragma once

#include <string>
#include <vector>

#include "decode/result.hpp"
#include "tables/arrow_abi.hpp"

namespace tbq {

// Exports batches that were moved out of `result`, with run and tag as dictionaries over `runs` and all tags.
void export_scalars(const Result& result, std::vector<ScalarBatch> scalars,
                    const std::vector<std::string>& runs, ArrowArrayStream* out);

}  // namespace tbq
