// System calls that a signal may interrupt.
#pragma once

#include <cerrno>

namespace tbq {

// What `call` returns, once no signal interrupts it. Not for close(): the descriptor is gone by then.
template <class Call>
auto retried(Call&& call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

}  // namespace tbq
