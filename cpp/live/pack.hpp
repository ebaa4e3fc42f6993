// Memory of a decoded part that is kept for long.
#pragma once

#include "decode/part.hpp"

namespace tbq {

// Moves scalars out of blocks that are not full, or share their slab with others, into as much memory as they
// need: from `kept` if that is given, else on their own. The blocks go back to the pool. Steps that several
// series share are kept once. What only decoding needs is freed.
void pack(Part& part, Pool& pool, Pool* kept);

}  // namespace tbq
