// TFRecord framing: `length u64 | crc u32 | payload | crc u32`, in batches of verified records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bytes/cursor.hpp"

namespace tbq {

constexpr size_t kHeader = 12;    // length and its CRC
constexpr size_t kOverhead = 16;  // header and the payload's CRC
// A longer record leaves the batch path: the parts that nothing asks for need not be read.
constexpr size_t kLargeRecord = 4096;
// A record of this length or more cannot contain an event: this is protobuf's own limit. It is not read.
constexpr uint64_t kLargestEvent = uint64_t{1} << 31;

struct Frame {
  const uint8_t* payload;
  size_t length;
};

enum class Stop {
  more,         // the bytes end inside a record (or exactly after one)
  large,        // a valid header of a record longer than kLargeRecord
  bad_length,   // a header that does not match its CRC
  bad_payload,  // a complete record with a payload that does not match its CRC
  full,         // `capacity` frames were found
};

struct Frames {
  size_t count;       // frames written
  const uint8_t* at;  // the first byte not consumed
  Stop stop;          // why the split ended there
};

// Splits `bytes` into verified records. Each frame is complete, and both of its CRCs match.
Frames split_records(Bytes bytes, Frame* out, size_t capacity);

// Reads the length from the 12 header bytes at `header`; false if they do not match their CRC.
bool read_header(const uint8_t* header, uint64_t& length);

// The offset of the first valid header (12 complete bytes) in `bytes` with a length of at most `longest`, or
// bytes.size().
size_t find_header(Bytes bytes, uint64_t longest);

// The same two functions without the CPU's instruction: the fallback, and the oracle for the tests.
Frames split_records_table(Bytes bytes, Frame* out, size_t capacity);
size_t find_header_table(Bytes bytes, uint64_t longest);

bool payload_agrees(const uint8_t* payload, size_t length, uint32_t masked);

// Whether the `length` + kOverhead bytes at `record` are a record of that length with two matching CRCs.
bool record_agrees(const uint8_t* record, uint64_t length);

// How many bytes of consecutive records are complete records, by their lengths alone.
size_t whole_records(Bytes records);

constexpr size_t kFooter = kOverhead - kHeader;

// Writes the header and the footer around a payload in place: kHeader bytes before it, kFooter after it.
void frame_in_place(uint8_t* payload, size_t size);

// Appends the record of a payload.
void append_record(std::string& out, Bytes payload);

}  // namespace tbq
