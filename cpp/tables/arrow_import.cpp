#include "tables/arrow_import.hpp"

namespace tbq {

bool has_nulls(const ArrowArray& array) {
  if (array.null_count >= 0) return array.null_count > 0;
  const uint8_t* bits = validity(array);
  if (bits == nullptr) return false;
  for (int64_t i = array.offset; i < array.offset + array.length; ++i) {
    if ((bits[i / 8] >> (i % 8) & 1) == 0) return true;
  }
  return false;
}

}  // namespace tbq
