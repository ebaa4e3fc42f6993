// Adapts the core to a memory sanitizer: nothing is recycled, and spare room is poisoned, so the sanitizer
// sees stray accesses. (Under ThreadSanitizer the core runs as it does for users.)
#pragma once

#include <cstddef>

#if defined(__has_feature)
#define TBQ_HAS_FEATURE(feature) __has_feature(feature)
#else
#define TBQ_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || TBQ_HAS_FEATURE(address_sanitizer)
#define TBQ_ADDRESS_SANITIZER 1
#include <sanitizer/asan_interface.h>
#endif
#if defined(TBQ_ADDRESS_SANITIZER) || defined(__SANITIZE_HWADDRESS__) || \
    TBQ_HAS_FEATURE(hwaddress_sanitizer) || TBQ_HAS_FEATURE(memory_sanitizer)
#define TBQ_SANITIZER 1
#endif

namespace tbq {

#ifdef TBQ_SANITIZER
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// Makes any access to these bytes an error until they are unpoisoned.
inline void poison([[maybe_unused]] const void* memory, [[maybe_unused]] size_t size) {
#ifdef TBQ_ADDRESS_SANITIZER
  __asan_poison_memory_region(memory, size);
#endif
}
inline void unpoison([[maybe_unused]] const void* memory, [[maybe_unused]] size_t size) {
#ifdef TBQ_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(memory, size);
#endif
}

}  // namespace tbq
