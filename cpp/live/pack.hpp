// Packs the memory of a decoded part that is kept for long.
#pragma once

#include "decode/part.hpp"

namespace tbq {

// Moves scalars out of blocks that are not full, or that share their slab, into exactly the memory they need:
// from `kept` if it is not null, otherwise allocated separately. The blocks go back to the pool. Steps that
// several series share are stored once. Memory that only decoding needs is freed.
void pack(Part& part, Pool& pool, Pool* kept);

}  // namespace tbq
