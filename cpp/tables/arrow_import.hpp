// Takes Arrow data from other libraries, and gives it back when it is no longer needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tables/arrow_abi.hpp"

namespace tbq {

// One of Arrow's C structs, moved out of the place where its producer put it.
template <class T>
class Imported {
 public:
  Imported() = default;
  explicit Imported(T* from) : held_(*from) { from->release = nullptr; }
  Imported(Imported&& other) noexcept : held_(other.held_) { other.held_.release = nullptr; }
  Imported& operator=(Imported&&) = delete;
  ~Imported() {
    if (held_.release != nullptr) held_.release(&held_);
  }
  T* get() { return &held_; }
  const T* operator->() const { return &held_; }
  const T& operator*() const { return held_; }

 private:
  T held_{};
};

// The format of a column: of its indices and of its values if it is a dictionary.
struct ColumnFormat {
  std::string_view name, format, values;
  static ColumnFormat of(const ArrowSchema& column) {
    const auto text = [](const char* from) {
      return from == nullptr ? std::string_view() : std::string_view(from);
    };
    return {text(column.name), text(column.format),
            column.dictionary == nullptr ? std::string_view() : text(column.dictionary->format)};
  }
};

inline bool is_string(std::string_view format) { return format == "u" || format == "U"; }

// The validity bits of an array, or null if no row of it is absent.
inline const uint8_t* validity(const ArrowArray& array) {
  return array.null_count == 0 || array.n_buffers == 0 ? nullptr
                                                       : static_cast<const uint8_t*>(array.buffers[0]);
}

// Whether a row of the array may be absent.
inline bool has_nulls(const ArrowArray& array) {
  if (array.null_count >= 0) return array.null_count > 0;
  const uint8_t* bits = validity(array);
  if (bits == nullptr) return false;
  for (int64_t i = array.offset; i < array.offset + array.length; ++i) {
    if ((bits[i / 8] >> (i % 8) & 1) == 0) return true;
  }
  return false;
}

}  // namespace tbq
