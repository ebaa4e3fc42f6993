// Converts tensors to dtype, shape and little-endian bytes.
#include "tables/tensor_columns.hpp"

#include <cstring>

namespace tbq {

std::shared_ptr<const Column> dtype_dictionary() {
  // Never destroyed: a reading thread may outlive every static.
  static const auto* all = new std::shared_ptr<const Column>([] {
    std::vector<std::string> names;
    for (const DtypeInfo& dtype : kDtypes) names.emplace_back(dtype.name[0] == 0 ? "invalid" : dtype.name);
    return string_dictionary(names);
  }());
  return *all;
}

// The data of a string tensor are count + 1 offsets (int64), then the bytes that they point into.
TensorError TensorColumns::append(const Value& value) {
  const bool copied = owner_.wants("data");
  const TensorView tensor = read_tensor(value.payload);
  dtype_.append(static_cast<int32_t>(tensor.dtype));
  TensorError error;
  if (tensor.is_string()) {
    error = copy_strings(tensor, budget_, texts_);
    if (error == TensorError::none && copied) {
      GrowableBuffer<char>& data = data_.data();
      char* offsets = data.extend((texts_.size() + 1) * sizeof(int64_t));
      int64_t at = 0;
      for (size_t i = 0; i <= texts_.size(); ++i) {
        std::memcpy(offsets + i * sizeof(int64_t), &at, sizeof(at));
        if (i < texts_.size()) at += static_cast<int64_t>(texts_[i].size());
      }
      for (const Bytes& text : texts_) data.append(reinterpret_cast<const char*>(text.data()), text.size());
    }
  } else if (copied) {
    error = copy_numbers(tensor, budget_, data_.data());
  } else {
    error = check_numbers(tensor, budget_);
  }
  if (error != TensorError::none) {
    data_.append(copied ? as_text(value.payload) : std::string_view());
    return error;
  }
  data_.close();
  shape_.values().append(tensor.dims, tensor.rank);
  shape_.close();
  return error;
}

void TensorColumns::append_raw(Bytes bytes) {
  data_.append(owner_.wants("data") ? as_text(bytes) : std::string_view());
}

TensorError wrapped_bytes(const Value& value, RepeatBudget& budget, Bytes& out) {
  out = value.payload;
  if (value.row->field != ValueField::tensor) return TensorError::none;
  std::vector<Bytes> texts;
  const TensorError error = copy_strings(read_tensor(value.payload), budget, texts);
  if (error != TensorError::none) return error;
  if (texts.empty()) return TensorError::mismatch;
  out = texts[0];
  return TensorError::none;
}

}  // namespace tbq
