// Exports a result as tables: scalars, series, and, for the doctor and for rewriting, files and sessions.
#pragma once

#include <string>
#include <vector>

#include "decode/result.hpp"
#include "tables/arrow_abi.hpp"

namespace tbq {

// Exports batches that were moved out of `result`, with run and tag as dictionaries over `runs` and all tags.
void export_scalars(const Result& result, std::vector<ScalarBatch> scalars,
                    const std::vector<std::string>& runs, ArrowArrayStream* out);

// One row per (run, tag, kind) with all that was seen of it; `runs` are the names.
void export_series(const Result& result, const std::vector<std::string>& runs, ArrowArrayStream* out);

void export_files(const Result& result, ArrowArrayStream* out);
// Sessions, and the series in each of them. Need DecodeOptions::session_tables.
void export_sessions(const Result& result, ArrowArrayStream* out);
void export_segments(const Result& result, ArrowArrayStream* out);

}  // namespace tbq
