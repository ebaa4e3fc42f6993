// The message of a value: stored inline if it is small, otherwise in memory, or in its file if there are too
// many.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "bytes/cursor.hpp"

namespace tbq {

// The position of a record that can be read again.
struct RecordPlace {
  std::shared_ptr<const std::string> path;  // null if it cannot be read again
  uint64_t offset = 0;                      // the offset of the record in the file
};

// The bytes of large messages in memory.
using KeptBytes = std::shared_ptr<std::atomic<uint64_t>>;

class Payload {
 public:
  // `bytes` are part of `record`, which is at `place`. Beyond `most` kept bytes, they are read again on
  // request.
  Payload(Bytes bytes, Bytes record, const RecordPlace& place, const KeptBytes& kept, uint64_t most);

  // Returns the bytes in `out`, which may point into `room`; false if the file no longer has them.
  bool read(std::string& room, std::string_view& out) const;
  const std::string& path() const { return *large_->place.path; }  // valid if read() failed

 private:
  // A message that is not small.
  struct Large {
    std::string bytes;  // empty if the message is in the file
    KeptBytes kept;
    RecordPlace place;
    uint64_t record = 0;  // the record's length
    uint64_t begin = 0;   // the message's offset in it
    uint64_t size = 0;

    Large() = default;
    Large(const Large&) = delete;
    Large& operator=(const Large&) = delete;
    ~Large() { kept->fetch_sub(bytes.size(), std::memory_order_relaxed); }
  };

  static constexpr size_t kSmall = 15;
  static constexpr size_t kWorthReading = 4096;  // smaller messages are always in memory
  std::shared_ptr<const Large> large_;
  char small_[kSmall];
  uint8_t size_ = 0;
};

}  // namespace tbq
