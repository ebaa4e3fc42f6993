// Damage: bytes of a file that hold no record, or none that can be read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tbq {

enum class FaultCode : uint8_t {
  bad_length,   // a header whose CRC does not agree
  bad_payload,  // a payload whose CRC does not agree
  zeros,        // a block of zeros where a record should start
  torn,         // a record that claims more than there is, with whole records after it
  bad_event,    // a sound record whose protobuf cannot be read
};

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
  }
  return "";
}

constexpr size_t kMostFaults = 10000;  // listed for one file

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

}  // namespace tbq
