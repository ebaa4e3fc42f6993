// What is known of each file, of each session, and of each series in it: for the doctor and for rewriting.
#pragma once

#include "decode/result.hpp"
#include "tables/arrow_abi.hpp"

namespace tbq {

void export_files(const Result& result, ArrowArrayStream* out);
// With DecodeOptions::session_tables.
void export_sessions(const Result& result, ArrowArrayStream* out);
void export_segments(const Result& result, ArrowArrayStream* out);

}  // namespace tbq
