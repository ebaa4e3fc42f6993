// Damage: bytes of a file that do not contain a readable record.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tbq {

enum class FaultCode : uint8_t {
  bad_length,   // a header that does not match its CRC
  bad_payload,  // a payload that does not match its CRC
  zeros,        // a block of zeros where a record should start
  torn,         // a record that claims more bytes than there are, with complete records after it
  bad_event,    // a valid record with a protobuf that cannot be read
  too_long,     // a record of kLargestEvent bytes or more, which is not read
};
constexpr size_t kFaultCodes = 6;

constexpr const char* fault_name(FaultCode code) {
  constexpr const char* names[kFaultCodes] = {"bad_length", "bad_payload", "zeros",
                                              "torn",       "bad_event",   "too_long"};
  return names[static_cast<size_t>(code)];
}

constexpr size_t kMostFaults = 10000;  // the most that are listed per file and code

// A damaged range, with the steps of the events before and after it.
struct Fault {
  FaultCode code = FaultCode::bad_length;
  uint64_t offset = 0;
  uint64_t length = 0;
  bool has_before = false;
  bool has_after = false;
  int64_t step_before = 0;
  int64_t step_after = 0;
};

// Decides which faults are listed: the first ones of each code, so that the list shows every kind of damage.
class FaultLimit {
 public:
  // Whether one more fault with this code is listed.
  bool takes(FaultCode code) {
    size_t& count = listed_[static_cast<size_t>(code)];
    if (count == kMostFaults) return false;
    ++count;
    return true;
  }
  // Whether all faults with this code are certainly listed.
  bool is_complete(FaultCode code) const { return listed_[static_cast<size_t>(code)] < kMostFaults; }

 private:
  std::array<size_t, kFaultCodes> listed_{};
};

}  // namespace tbq
