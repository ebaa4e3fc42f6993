// An Arrow stream that Python consumes once, through the Arrow PyCapsule interface.
#pragma once

#include <memory>

#include "bind/casters.hpp"
#include "tables/arrow.hpp"

namespace tbq {

class Stream {
 public:
  Stream() : stream_(new ArrowArrayStream{}, release) {}
  ArrowArrayStream* get() { return stream_.get(); }

  nanobind::object capsule() {
    if (!stream_) throw nanobind::value_error("this stream was already consumed");
    PyObject* capsule = PyCapsule_New(stream_.get(), "arrow_array_stream", [](PyObject* held) {
      release(static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(held, "arrow_array_stream")));
    });
    if (capsule == nullptr) throw nanobind::python_error();
    stream_.release();
    return nanobind::steal(capsule);
  }

 private:
  static void release(ArrowArrayStream* stream) {
    if (stream && stream->release) stream->release(stream);
    delete stream;
  }
  std::unique_ptr<ArrowArrayStream, void (*)(ArrowArrayStream*)> stream_;
};

}  // namespace tbq
