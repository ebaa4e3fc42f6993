// A message that holds a value: small ones in place, large ones in memory, or in the file if there are too
// many.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "bytes/cursor.hpp"

namespace tbq {

// Where a record lies that can be read again.
struct RecordPlace {
  std::shared_ptr<const std::string> path;  // null if it cannot be read again
  uint64_t offset = 0;                      // of the record in the file
};

// How many bytes of large messages are in memory.
using KeptBytes = std::shared_ptr<std::atomic<uint64_t>>;

class Payload {
 public:
  // `bytes` are part of `record`, which lies at `place`; beyond `most` kept bytes they are read again when
  // asked for.
  Payload(Bytes bytes, Bytes record, const RecordPlace& place, const KeptBytes& kept, uint64_t most);

  // The bytes, perhaps by way of `room`; false if the file does not have them any more.
  bool read(std::string& room, std::string_view& out) const;
  const std::string& path() const { return *large_->place.path; }  // if read() failed

 private:
  // A message that is not small.
  struct Large {
    std::string bytes;  // empty if it is in the file
    KeptBytes kept;
    RecordPlace place;
    uint64_t record = 0;  // its length
    uint64_t begin = 0;   // of the message in it
    uint64_t size = 0;

    Large() = default;
    Large(const Large&) = delete;
    Large& operator=(const Large&) = delete;
    ~Large() { kept->fetch_sub(bytes.size(), std::memory_order_relaxed); }
  };

  static constexpr size_t kSmall = 15;
  static constexpr size_t kWorthReading = 4096;  // smaller ones are always in memory
  std::shared_ptr<const Large> large_;
  char small_[kSmall];
  uint8_t size_ = 0;
};

}  // namespace tbq
