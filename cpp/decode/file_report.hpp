// Combines the findings of a file's parts into its report.
#pragma once

#include "decode/sessions.hpp"

namespace tbq {

// Adds the findings of the parts of file `index` to its report.
void report_file(uint32_t index, const Parts& parts, FileReport& report);

}  // namespace tbq
