// Arrow data of other Python libraries, through the Arrow PyCapsule interface.
#pragma once

#include "bind/casters.hpp"
#include "tables/arrow_abi.hpp"

namespace tbq {

template <class T>
T* in_capsule(nanobind::handle capsule, const char* name) {
  void* held = PyCapsule_GetPointer(capsule.ptr(), name);
  if (held == nullptr) throw nanobind::python_error();
  return static_cast<T*>(held);
}

// The capsules of an array. What is not moved out of them is released with them.
class ArrayCapsules {
 public:
  explicit ArrayCapsules(nanobind::handle array)
      : both_(nanobind::cast<nanobind::tuple>(array.attr("__arrow_c_array__")())) {
    if (both_.size() != 2) throw nanobind::value_error("__arrow_c_array__: want two capsules");
  }
  const ArrowSchema* schema() const { return in_capsule<ArrowSchema>(both_[0], "arrow_schema"); }
  ArrowArray* array() const { return in_capsule<ArrowArray>(both_[1], "arrow_array"); }

 private:
  nanobind::tuple both_;
};

// The capsule of a schema or a type.
class SchemaCapsule {
 public:
  explicit SchemaCapsule(nanobind::handle type) : capsule_(type.attr("__arrow_c_schema__")()) {}
  const ArrowSchema& operator*() const { return *in_capsule<ArrowSchema>(capsule_, "arrow_schema"); }

 private:
  nanobind::object capsule_;
};

// The capsule of a stream.
class StreamCapsule {
 public:
  explicit StreamCapsule(nanobind::handle table) : capsule_(table.attr("__arrow_c_stream__")()) {}
  ArrowArrayStream& operator*() const {
    return *in_capsule<ArrowArrayStream>(capsule_, "arrow_array_stream");
  }

 private:
  nanobind::object capsule_;
};

}  // namespace tbq
