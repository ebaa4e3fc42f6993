// The table `pr_curves`: one row per threshold of a [6, n] tensor.
#include "tables/kinds.hpp"
#include "tables/tensor_columns.hpp"

namespace tbq {
namespace {

class PrCurves final : public Expander {
 public:
  using Expander::Expander;
  void append(const Value& value) override {
    const TensorView tensor = read_tensor(value.payload);
    TensorError error = value.row->field == ValueField::tensor ? TensorError::none : TensorError::dtype;
    if (error == TensorError::none) error = copy_doubles(tensor, budget_, numbers_);
    if (error != TensorError::none) return refuse(value, tensor_error_text(error));
    if (tensor.rank != 2 || tensor.dims[0] != 6)
      return refuse(value, "a PR curve's tensor must have the shape [6, n]");
    const auto rows = static_cast<size_t>(tensor.dims[1]);
    add_keys(value, rows);
    for (size_t i = 0; i < rows; ++i) {
      // As NumPy computes linspace(0, 1, n).
      threshold_.append(i > 0 && i + 1 == rows ? 1.0
                        : i == 0               ? 0.0
                                 : static_cast<double>(i) * (1.0 / static_cast<double>(rows - 1)));
    }
    for (size_t row = 0; row < 6; ++row) columns_[row].append(numbers_.data() + row * rows, rows);
  }

 private:
  // Keeps an empty row, because there was a curve at this step.
  void refuse(const Value& value, const char* why) {
    report(value, "bad_pr_curve", why);
    add_keys(value);
  }

  NumberColumn threshold_{*this, "threshold"};
  NumberColumn columns_[6] = {{*this, "true_pos"},  {*this, "false_pos"}, {*this, "true_neg"},
                              {*this, "false_neg"}, {*this, "precision"}, {*this, "recall"}};
  GrowableBuffer<double> numbers_;
};

}  // namespace

std::unique_ptr<Expander> make_pr_curves(ValueProblems& problems) {
  return std::make_unique<PrCurves>(problems);
}

}  // namespace tbq
