// Recognises directories that `add_hparams` wrote: they hold hyperparameters and final metrics, nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decode/result.hpp"

namespace tbq {

enum class SubRunState : uint8_t {
  nothing,   // no value yet
  begun,     // the first entries of the hparams plugin
  complete,  // all three entries, and after them each metric at most once per call
  trial,     // either of both, but its session names its own group: a trial, not the end of the run above
  other,     // anything else
};
const char* sub_run_state_name(SubRunState state);

struct SubRunFacts {
  SubRunState state = SubRunState::nothing;
  // Of its first call, sorted: equal for equal hyperparameters; empty if there are none yet.
  std::string hparams;
  uint64_t calls = 0;
};

// One per run. The result must count what was logged, restarts or not.
std::vector<SubRunFacts> sub_run_facts(const Result& result, size_t runs);

}  // namespace tbq
