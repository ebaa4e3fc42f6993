// A part that was decoded again: what has been delivered of it stays delivered.
#pragma once

#include "decode/delivered.hpp"
#include "decode/part.hpp"

namespace tbq {

// Moves what was delivered of `before` to `now`, series by series, if `now` starts with the same rows. Needs
// no memory, so that it cannot fail halfway.
void transfer(const Part& before, const Part& now, Delivered& delivered) noexcept;

}  // namespace tbq
