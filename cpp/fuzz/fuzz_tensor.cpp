// Fuzzes bytes as a TensorProto: its elements as numbers, float64s, strings and as a scalar must agree.
#include <cmath>
#include <iterator>

#include "event/event.hpp"
#include "event/scalar_tensor.hpp"
#include "event/tensor.hpp"
#include "fuzz/fuzz.hpp"

namespace {

using tbq::Bytes;
using tbq::Dtype;
using tbq::RepeatBudget;
using tbq::TensorError;

const bool added = [] {
  using namespace bytes;
  const auto dims = [](std::initializer_list<uint64_t> sizes) {
    std::string out;
    for (const uint64_t size : sizes) out += message(2, number(1, size));
    return message(2, out);
  };
  for (uint64_t dtype = 0; dtype <= tbq::kDtypeCount; ++dtype) {
    const uint32_t lists[] = {5, 6, 7, 9, 10, 11, 13, 16, 17};
    const uint32_t list = lists[dtype % std::size(lists)];
    seeds().push_back(number(1, dtype) + dims({2}) + message(list, std::string(8, '\1')));
    seeds().push_back(number(1, dtype) + dims({1}) + message(4, std::string(size_t{1} << dtype % 5, '\2')));
  }
  for (const uint32_t list : {5, 6, 7, 9, 10, 11, 13, 16, 17}) {
    seeds().push_back(number(1, list) + dims({}) + number(list, 5));
  }
  seeds().push_back(tensor(1, of(1.5F)));
  seeds().push_back(tensor(2, of(1.5)));
  seeds().push_back(number(1, 1) + message(5, of(1.5F)) + fixed(5, 2.5F));
  seeds().push_back(number(1, 1) + fixed(5, 2.5F));
  seeds().push_back(number(1, 2) + fixed(6, 2.5));
  seeds().push_back(number(1, 1) + number(7, 5));
  seeds().push_back(number(1, 3) + message(2, "") + number(7, ~uint64_t{0}));
  seeds().push_back(number(1, 3) + message(2, "") + message(7, "\xff\xff\xff\xff\x0f"));
  seeds().push_back(number(1, 6) + message(2, "") + number(7, 300));
  seeds().push_back(number(1, 9) + message(10, varint(~0ULL)) + number(10, 5));
  seeds().push_back(number(1, 7) + dims({2}) + message(8, "a") + message(8, "b"));
  seeds().push_back(number(1, 7) + dims({2}) + message(4, "\1\2abc"));
  seeds().push_back(number(1, 7) + dims({1000}) + message(8, "repeated"));
  seeds().push_back(number(1, 1) + dims({1000, 1000}) + fixed(5, 1.0F));
  seeds().push_back(number(1, 1) + dims({1ULL << 40, 1ULL << 40}) + fixed(5, 1.0F));
  seeds().push_back(number(1, 1) + dims({0, 3}));
  seeds().push_back(number(1, 1) + message(2, number(3, 1)) + fixed(5, 1.0F));
  seeds().push_back(number(1, 101) + dims({1}) + message(5, of(1.0F)));
  return true;
}();

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes input(data, size);
  const tbq::TensorView tensor = tbq::read_tensor(input);
  REQUIRE(tensor.rank <= tbq::kMaxRank);
  REQUIRE(static_cast<size_t>(tensor.dtype) < tbq::kDtypeCount);
  uint64_t count = 1;
  for (size_t i = 0; tensor.ok() && i < tensor.rank; ++i) {
    REQUIRE(tensor.dims[i] >= 0);
    count *= static_cast<uint64_t>(tensor.dims[i]);
  }
  if (tensor.ok()) REQUIRE(tensor.count == count);

  // Small budgets; otherwise a few bytes would become megabytes of zeros in each run.
  RepeatBudget budget{4096};
  tbq::GrowableBuffer<char> numbers;
  const TensorError copied = tbq::copy_numbers(tensor, budget, numbers);
  RepeatBudget budget_again{4096};
  REQUIRE(tbq::check_numbers(tensor, budget_again) == copied && budget.left == budget_again.left);
  if (copied == TensorError::none) {
    REQUIRE(tensor.ok() && numbers.size() == tensor.count * tbq::element_size(tensor.dtype));
  } else {
    REQUIRE(numbers.empty());
  }
  RepeatBudget budget_doubles{4096 * 8};
  tbq::GrowableBuffer<double> doubles;
  const TensorError widened = tbq::copy_doubles(tensor, budget_doubles, doubles);
  if (widened == TensorError::none) {
    REQUIRE(doubles.size() == tensor.count);
    if (copied == TensorError::none) {
      for (size_t i = 0; i < doubles.size(); ++i) {
        if (tensor.dtype == Dtype::float64) {
          REQUIRE(same(doubles[i], tbq::load_le<double>(reinterpret_cast<uint8_t*>(numbers.data()) + 8 * i)));
        } else if (tensor.dtype == Dtype::float32) {
          REQUIRE(same(doubles[i], tbq::load_le<float>(reinterpret_cast<uint8_t*>(numbers.data()) + 4 * i)));
        } else if (tensor.dtype == Dtype::int64) {
          REQUIRE(doubles[i] == static_cast<double>(tbq::load_le<int64_t>(
                                    reinterpret_cast<uint8_t*>(numbers.data()) + 8 * i)));
        } else if (tensor.dtype == Dtype::int8) {
          REQUIRE(doubles[i] == static_cast<signed char>(numbers[i]));
        }
      }
    }
  } else {
    REQUIRE(doubles.empty());
  }
  RepeatBudget budget_texts{4096};
  std::vector<Bytes> texts;
  if (tbq::copy_strings(tensor, budget_texts, texts) == TensorError::none) {
    REQUIRE(tensor.is_string() && texts.size() == tensor.count);
    for (const Bytes& text : texts) {
      REQUIRE(text.empty() || (text.data() >= data && text.data() + text.size() <= data + size));
    }
  } else {
    REQUIRE(texts.empty());
  }

  const tbq::ScalarTensor scalar = tbq::scalar_of_tensor(input);
  if (scalar.slot) {
    REQUIRE(scalar.valid && (scalar.dtype == Dtype::float32 || scalar.dtype == Dtype::float64));
    const size_t width = scalar.dtype == Dtype::float32 ? 4 : 8;
    const auto at = static_cast<size_t>(scalar.slot - input.data());
    REQUIRE(at <= input.size() && width <= input.size() - at);
    const double held = width == 4 ? tbq::load_le<float>(scalar.slot) : tbq::load_le<double>(scalar.slot);
    REQUIRE(same(held, scalar.value));
  }
  // One rule: a scalar is a tensor of one real number, and has that number's value.
  const bool is_one_number = widened == TensorError::none && doubles.size() == 1;
  REQUIRE(scalar.valid == is_one_number);
  if (is_one_number) REQUIRE(same(scalar.value, doubles[0]));
  return 0;
}
