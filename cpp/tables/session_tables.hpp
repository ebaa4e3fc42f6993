// Exports tables of files, of sessions and of the series in each session, for the doctor and for rewriting.
#pragma once

#include "decode/result.hpp"
#include "tables/arrow_abi.hpp"

namespace tbq {

void export_files(const Result& result, ArrowArrayStream* out);
// Needs DecodeOptions::session_tables.
void export_sessions(const Result& result, ArrowArrayStream* out);
void export_segments(const Result& result, ArrowArrayStream* out);

}  // namespace tbq
