// The table `tensors`: dtype, shape and raw little-endian bytes.
#include "tables/kinds.hpp"
#include "tables/name_columns.hpp"
#include "tables/tensor_columns.hpp"

namespace tbq {
namespace {

class Tensors final : public Expander {
 public:
  using Expander::Expander;
  void append(const Value& value) override {
    add_keys(value);
    const TensorError error = tensor_.append(value);
    if (error != TensorError::none) report(value, "bad_tensor", tensor_error_text(error));
    names_.append(value);
  }

 private:
  TensorColumns tensor_{*this};
  NameColumns names_{*this};
};

}  // namespace

std::unique_ptr<Expander> make_tensors(ValueProblems& problems) {
  return std::make_unique<Tensors>(problems);
}

}  // namespace tbq
