// Keeps delivered rows delivered when their part is decoded again.
#pragma once

#include "decode/delivered.hpp"
#include "decode/part.hpp"

namespace tbq {

// Moves the delivered rows of `before` to `now`, series by series, if `now` begins with the same rows. Needs
// no memory, so that it cannot fail halfway.
void transfer(const Part& before, const Part& now, Delivered& delivered) noexcept;

}  // namespace tbq
