// TFRecord framing: `length u64 | crc u32 | payload | crc u32`, in batches of verified records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bytes/cursor.hpp"

namespace tbq {

constexpr size_t kHeader = 12;    // length and its CRC
constexpr size_t kOverhead = 16;  // header and the payload's CRC
// A record longer than this leaves the batch path: what nobody asked for of it need not be read.
constexpr size_t kLargeRecord = 4096;
// A record of this length or more does not hold an event: protobuf's own limit. It is not read.
constexpr uint64_t kLargestEvent = uint64_t{1} << 31;

struct Frame {
  const uint8_t* payload;
  size_t length;
};

enum class Stop {
  more,         // the bytes at hand end inside a record (or exactly after one)
  large,        // a valid header of a record longer than kLargeRecord
  bad_length,   // a header whose CRC does not agree
  bad_payload,  // a whole record whose payload's CRC does not agree
  full,         // `capacity` frames were found
};

struct Frames {
  size_t count;       // frames written
  const uint8_t* at;  // the first byte not consumed
  Stop stop;          // why it ended there
};

// Splits `bytes` into verified records. Each frame is whole and has both of its CRCs right.
Frames split_records(Bytes bytes, Frame* out, size_t capacity);

// The length that the 12 header bytes at `header` claim, or false if their CRC does not agree.
bool read_header(const uint8_t* header, uint64_t& length);

// The offset of the first valid header (12 whole bytes) in `bytes` whose length is at most `longest`, or
// bytes.size().
size_t find_header(Bytes bytes, uint64_t longest);

// The same two without the CPU's instruction, whatever the CPU: the fallback, and the oracle of the tests.
Frames split_records_table(Bytes bytes, Frame* out, size_t capacity);
size_t find_header_table(Bytes bytes, uint64_t longest);

bool payload_agrees(const uint8_t* payload, size_t length, uint32_t masked);

// Whether the `length` + kOverhead bytes at `record` are a record of that length with both of its CRCs right.
bool record_agrees(const uint8_t* record, uint64_t length);

// How many bytes at the start of back-to-back records are whole records, by their lengths alone.
size_t whole_records(Bytes records);

constexpr size_t kFooter = kOverhead - kHeader;

// Writes the header and the footer around a payload that is in place: kHeader bytes before it, kFooter after
// it.
void frame_in_place(uint8_t* payload, size_t size);

// Appends the record of a payload.
void append_record(std::string& out, Bytes payload);

}  // namespace tbq
