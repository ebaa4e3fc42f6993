// The common base of images and audio: encoded files, in a message of their own or in a tensor.
#pragma once

#include <vector>

#include "tables/kinds.hpp"
#include "tables/tensor_columns.hpp"

namespace tbq {

// One row per encoded file: from its own message (v1), or from a string of a tensor (v2).
class Encoded : public Expander {
 public:
  Encoded(ValueProblems& problems, ValueField message) : Expander(problems), message_(message) {}
  void append(const Value& value) final {
    if (value.row->field == message_) {
      append_v1(value);
    } else {
      append_v2(value);
    }
  }
  void reserve(uint64_t bytes, uint64_t values) final {
    reserve_keys(bytes, values);
    data_.data().reserve(static_cast<size_t>(bytes));
  }

 protected:
  virtual void append_v1(const Value& value) = 0;
  virtual void append_v2(const Value& value) = 0;

  template <class T>
  static void put(FixedBuilder<T>& column, T number, bool known) {
    if (known) {
      column.append(number);
    } else {
      column.append_null();
    }
  }

  FixedBuilder<int64_t> index_;
  BytesBuilder data_{"Z"};
  RepeatBudget budget_;
  std::vector<Bytes> texts_;

 private:
  const ValueField message_;
};

}  // namespace tbq
