// Computes the table of powers of ten from exact products and quotients.
#include "bytes/schubfach.hpp"

namespace tbq {
namespace {

// A number of up to 1280 bits, the least significant word first: enough for 10^324 and for 2^1215.
class Big {
 public:
  void set_bit(int bit) { words_[static_cast<size_t>(bit) / 64] |= uint64_t{1} << (bit % 64); }

  void multiply_by_10() {
    uint64_t carry = 0;
    for (auto& word : words_) {
      const U128 product = multiply(word, 10);
      word = product.low + carry;
      carry = product.high + (word < carry ? 1 : 0);
    }
  }

  void divide_by_10() {
    uint64_t rest = 0;  // 32 bits at a time, so plain 64-bit division is enough
    for (size_t i = words_.size(); i-- > 0;) {
      const uint64_t top = (rest << 32) | (words_[i] >> 32);
      const uint64_t bottom = ((top % 10) << 32) | (words_[i] & 0xffffffffU);
      words_[i] = ((top / 10) << 32) | (bottom / 10);
      rest = bottom % 10;
    }
  }

  // The leading 128 bits, rounded up. `inexact`: lower bits were already lost.
  U128 leading(bool inexact) const {
    size_t top = words_.size() - 1;
    while (words_[top] == 0) --top;
    const int shift = std::countl_zero(words_[top]);
    const auto word = [&](size_t below) { return below <= top ? words_[top - below] : 0; };
    const auto joined = [&](size_t below) {
      return shift == 0 ? word(below) : (word(below) << shift) | (word(below + 1) >> (64 - shift));
    };
    U128 lead{joined(0), joined(1)};
    bool more = inexact || (word(2) << shift) != 0;
    for (size_t below = 3; below <= top; ++below) more = more || word(below) != 0;
    if (more && ++lead.low == 0) ++lead.high;
    return lead;
  }

 private:
  std::array<uint64_t, 20> words_{};
};

}  // namespace

Powers::Powers() {
  Big up;
  up.set_bit(0);
  for (int k = 0; k <= kMaxPower; ++k, up.multiply_by_10()) at(k) = up.leading(false);
  Big down;
  down.set_bit(1215);
  for (int k = -1; k >= kMinPower; --k) {
    down.divide_by_10();
    at(k) = down.leading(true);
  }
}

const Powers kPowers;

}  // namespace tbq
