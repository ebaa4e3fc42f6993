// Names the ends of runs.
#include "decode/ends.hpp"

namespace tbq {

const char* run_end_name(RunEnd end) {
  static constexpr const char* names[] = {"", "finished", "failed"};
  return names[static_cast<size_t>(end)];
}

}  // namespace tbq
