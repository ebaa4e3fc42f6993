// Rules for system calls: how many bytes one may have, and that it is repeated after a signal.
#pragma once

#include <cerrno>
#include <cstddef>

namespace tbq {

inline constexpr size_t kLargestCall = size_t{1} << 30;  // macOS and Windows refuse more than INT_MAX bytes

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
