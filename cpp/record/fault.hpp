// Damage: bytes of a file that hold no record, or none that can be read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tbq {

enum class FaultCode : uint8_t {
  bad_length,   // a header whose CRC does not agree
  bad_payload,  // a payload whose CRC does not agree
  zeros,        // a block of zeros where a record should start
  torn,         // a record that claims more than there is, with whole records after it
  bad_event,    // a sound record whose protobuf cannot be read
  too_long,     // a record of kLargestEvent or more, which is not read
};
constexpr size_t kFaultCodes = 6;

constexpr const char* fault_name(FaultCode code) {
  switch (code) {
    case FaultCode::bad_length:
      return "bad_length";
    case FaultCode::bad_payload:
      return "bad_payload";
    case FaultCode::zeros:
      return "zeros";
    case FaultCode::torn:
      return "torn";
    case FaultCode::bad_event:
      return "bad_event";
    case FaultCode::too_long:
      return "too_long";
  }
  return "";
}

constexpr size_t kMostFaults = 10000;  // of each code that are listed for one file

// Bytes that were lost, with the steps of the events on either side of them.
struct Fault {
  FaultCode code = FaultCode::bad_length;
  uint64_t offset = 0;
  uint64_t length = 0;
  bool has_before = false;
  bool has_after = false;
  int64_t step_before = 0;
  int64_t step_after = 0;
};

// Which faults are listed: the first ones of each code, so that a list is never silent about a kind of
// damage.
class FaultLimit {
 public:
  // Whether one more is listed.
  bool takes(FaultCode code) {
    size_t& count = listed_[static_cast<size_t>(code)];
    if (count == kMostFaults) return false;
    ++count;
    return true;
  }
  // Whether all of them are listed, for sure.
  bool is_complete(FaultCode code) const { return listed_[static_cast<size_t>(code)] < kMostFaults; }

 private:
  std::array<size_t, kFaultCodes> listed_{};
};

}  // namespace tbq
