// NumPy arrays over vectors.
#pragma once

#include <vector>

#include "bind/casters.hpp"

namespace tbq {

// A NumPy array over a vector, which it keeps alive.
template <class T>
nanobind::object array_of(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  const nanobind::capsule owner(kept, [](void* data) noexcept { delete static_cast<std::vector<T>*>(data); });
  return nanobind::cast(
      nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>(kept->data(), {kept->size()}, owner));
}

}  // namespace tbq
