// The limit for the bytes of one read or write call.
#pragma once

#include <cstddef>

namespace tbq {

inline constexpr size_t kLargestCall = size_t{1} << 30;  // macOS and Windows refuse more than INT_MAX bytes

}  // namespace tbq
