// What the parts of a file say of it together.
#pragma once

#include "decode/sessions.hpp"

namespace tbq {

// Adds what the parts of file `index` found to its report.
void report_file(uint32_t index, const Parts& parts, FileReport& report);

}  // namespace tbq
