// Implements SipHash-1-3 (Aumasson and Bernstein) with a random key per process.
#include "bytes/seeded_hash.hpp"

#include <bit>
#include <chrono>
#include <cstring>
#include <exception>
#include <random>

#include "bytes/cursor.hpp"

namespace tbq {
namespace {

struct Key {
  uint64_t low = 0;
  uint64_t high = 0;

  Key() {
    try {
      std::random_device random;
      const auto word = [&] { return uint64_t{random()} << 32 | random(); };
      low = word();
      high = word();
    } catch (
        const std::exception&) {  // the system has no source of randomness: the time is better than nothing
      low = static_cast<uint64_t>(std::chrono::high_resolution_clock::now().time_since_epoch().count());
      high = reinterpret_cast<uintptr_t>(this);
    }
  }
};

class Sip {
 public:
  Sip() {
    static const Key key;
    a_ = 0x736f6d6570736575 ^ key.low;
    b_ = 0x646f72616e646f6d ^ key.high;
    c_ = 0x6c7967656e657261 ^ key.low;
    d_ = 0x7465646279746573 ^ key.high;
  }
  void add(uint64_t word) {
    d_ ^= word;
    round();
    a_ ^= word;
  }
  size_t finish() {
    c_ ^= 0xff;
    for (int i = 0; i < 3; ++i) round();
    return static_cast<size_t>(a_ ^ b_ ^ c_ ^ d_);
  }

 private:
  void round() {
    a_ += b_;
    b_ = std::rotl(b_, 13) ^ a_;
    a_ = std::rotl(a_, 32);
    c_ += d_;
    d_ = std::rotl(d_, 16) ^ c_;
    a_ += d_;
    d_ = std::rotl(d_, 21) ^ a_;
    c_ += b_;
    b_ = std::rotl(b_, 17) ^ c_;
    c_ = std::rotl(c_, 32);
  }
  uint64_t a_;
  uint64_t b_;
  uint64_t c_;
  uint64_t d_;
};

}  // namespace

size_t SeededHash::operator()(std::string_view text) const {
  Sip sip;
  const auto* at = reinterpret_cast<const uint8_t*>(text.data());
  size_t left = text.size();
  for (; left >= 8; left -= 8, at += 8) sip.add(load_le<uint64_t>(at));
  uint64_t last = uint64_t{text.size()} << 56;
  for (size_t i = 0; i < left; ++i) last |= uint64_t{at[i]} << (8 * i);
  sip.add(last);
  return sip.finish();
}

size_t SeededHash::operator()(uint64_t number) const {
  Sip sip;
  sip.add(number);
  return sip.finish();
}

}  // namespace tbq
