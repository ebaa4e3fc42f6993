// Memory on large pages where the system has them, kept for the next one that asks when it is given back:
// fresh pages cost more than what is done in them.
#pragma once

#include <cstddef>
#include <memory>

namespace tbq {

constexpr size_t kSlab = size_t{1} << 20;  // worth it from here on
std::shared_ptr<void> make_slab(size_t bytes);

}  // namespace tbq
