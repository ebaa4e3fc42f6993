// The table `texts`: one row per string of a tensor.
#include "tables/kinds.hpp"
#include "tables/tensor_columns.hpp"

namespace tbq {
namespace {

class Texts final : public Expander {
 public:
  using Expander::Expander;
  void append(const Value& value) override {
    if (value.row->field != ValueField::tensor) return refuse(value, "a text without a value");
    const TensorView tensor = read_tensor(value.payload);
    const TensorError error = copy_strings(tensor, budget_, texts_);
    if (error != TensorError::none) return refuse(value, tensor_error_text(error));
    // Many dimensions times many texts can be far larger than the file.
    const uint64_t indices = tensor.rank * texts_.size() * sizeof(int64_t);
    if (indices > kLargestRepeat && indices > 32 * uint64_t{value.row->payload_length}) {
      return refuse(value, "a text tensor with too many dimensions");
    }
    add_keys(value, texts_.size());
    int64_t place[kMaxRank] = {};
    for (const Bytes& text : texts_) {
      index_.values().append(place, tensor.rank);
      index_.close();
      if (wants("text")) text_.append(utf8(value, as_text(text)));
      for (size_t i = tensor.rank; i-- > 0;) {
        if (++place[i] < tensor.dims[i]) break;
        place[i] = 0;
      }
    }
  }

 private:
  void refuse(const Value& value, const char* why) {
    report(value, "bad_text", why);
    add_keys(value);
  }

  Named<ListBuilder<int64_t>> index_{*this, "index"};
  StringColumn text_{*this, "text"};
  std::vector<Bytes> texts_;
};

}  // namespace

std::unique_ptr<Expander> make_texts(ValueProblems& problems) { return std::make_unique<Texts>(problems); }

}  // namespace tbq
