// Repeats system calls that a signal interrupted.
#pragma once

#include <cerrno>

namespace tbq {

// Repeats `call` until no signal interrupts it and returns its result. Not for close(): the descriptor is
// already released.
template <class Call>
auto retried(Call&& call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

}  // namespace tbq
