// Hash tables for keys that come from files. Each process draws a random hash key, so a crafted file cannot
// contain names, steps or offsets that collide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace tbq {

// SipHash-1-3.
struct SeededHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const;
  size_t operator()(uint64_t number) const;
};

template <class Value>
using NameMap = std::unordered_map<std::string, Value, SeededHash, std::equal_to<>>;
// The map does not own its names: they must outlive it.
template <class Value>
using NameViewMap = std::unordered_map<std::string_view, Value, SeededHash>;
using NameSet = std::unordered_set<std::string, SeededHash, std::equal_to<>>;
using NumberSet = std::unordered_set<uint64_t, SeededHash>;

}  // namespace tbq
