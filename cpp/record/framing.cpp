// Finds records in bytes and writes records. The search is compiled twice: with the CPU's CRC instruction,
// and with tables.
#include "record/framing.hpp"

#include <cstring>

#include "bytes/crc32c.hpp"
#include "bytes/crc32c_cpu.hpp"
#include "bytes/wire.hpp"

namespace tbq {
namespace {

struct TableCrc {
  static uint32_t of(const uint8_t* data, size_t size) { return crc32c_table(0, data, size); }
  static uint32_t of_length(const uint8_t* header) { return crc32c_table(0, header, 8); }
};

#if defined(TBQ_CRC_SSE42) || defined(TBQ_CRC_ARMV8)
struct CpuCrc {
  TBQ_CRC_INLINE static uint32_t of(const uint8_t* data, size_t size) {
    return size < 256 ? ~cpu_crc_short(~0U, data, size) : crc32c(0, data, size);
  }
  TBQ_CRC_INLINE static uint32_t of_length(const uint8_t* header) {
    return ~static_cast<uint32_t>(cpu_crc_u64(~0U, load_le<uint64_t>(header)));
  }
};
#endif

// The number of zero bytes at the start.
size_t zeros_at(const uint8_t* data, size_t size) {
  constexpr size_t kStride = 128;  // or-ed together; compilers turn this into vector instructions
  size_t at = 0;
  for (; size - at >= kStride; at += kStride) {
    uint64_t seen = 0;
    for (size_t i = 0; i < kStride; i += 8) seen |= load_le<uint64_t>(data + at + i);
    if (seen != 0) break;
  }
  for (; size - at >= 8 && load_le<uint64_t>(data + at) == 0;) at += 8;
  while (at < size && data[at] == 0) ++at;
  return at;
}

// A macro, because a template parameter cannot select a target attribute.
#define TBQ_SPLIT(NAME, CRC, TARGET)                                                     \
  TARGET Frames NAME(Bytes bytes, Frame* out, size_t capacity) {                         \
    const uint8_t* at = bytes.data();                                                    \
    const uint8_t* const end = at + bytes.size();                                        \
    size_t count = 0;                                                                    \
    while (count < capacity) {                                                           \
      const auto left = static_cast<size_t>(end - at);                                   \
      if (left < kHeader) return {count, at, Stop::more};                                \
      const auto length = load_le<uint64_t>(at);                                         \
      if (crc_mask(CRC::of_length(at)) != load_le<uint32_t>(at + 8)) {                   \
        return {count, at, Stop::bad_length};                                            \
      }                                                                                  \
      if (length > kLargeRecord) return {count, at, Stop::large};                        \
      if (left < kOverhead || length > left - kOverhead) return {count, at, Stop::more}; \
      const uint8_t* payload = at + kHeader;                                             \
      if (crc_mask(CRC::of(payload, length)) != load_le<uint32_t>(payload + length)) {   \
        return {count, at, Stop::bad_payload};                                           \
      }                                                                                  \
      out[count++] = {payload, static_cast<size_t>(length)};                             \
      at = payload + length + 4;                                                         \
    }                                                                                    \
    return {count, at, Stop::full};                                                      \
  }

// Twelve zeros are not a header, because the masked CRC of eight zeros is not zero. So a run of zeros is
// skipped at once, up to the first start that reaches beyond it.
#define TBQ_FIND(NAME, CRC, TARGET)                                                                 \
  TARGET size_t NAME(Bytes bytes, uint64_t longest) {                                               \
    for (size_t i = 0; i + kHeader <= bytes.size(); ++i) {                                          \
      const uint8_t* at = bytes.data() + i;                                                         \
      const auto length = load_le<uint64_t>(at);                                                    \
      if (length == 0 && load_le<uint32_t>(at + 8) == 0) {                                          \
        i += zeros_at(at + kHeader, bytes.size() - i - kHeader);                                    \
        continue;                                                                                   \
      }                                                                                             \
      if (length <= longest && crc_mask(CRC::of_length(at)) == load_le<uint32_t>(at + 8)) return i; \
    }                                                                                               \
    return bytes.size();                                                                            \
  }

#if defined(TBQ_CRC_SSE42) || defined(TBQ_CRC_ARMV8)
TBQ_SPLIT(split_cpu, CpuCrc, TBQ_CRC_TARGET)
TBQ_FIND(find_cpu, CpuCrc, TBQ_CRC_TARGET)
#endif

}  // namespace

TBQ_SPLIT(split_records_table, TableCrc, )
TBQ_FIND(find_header_table, TableCrc, )

Frames split_records(Bytes bytes, Frame* out, size_t capacity) {
#if defined(TBQ_CRC_SSE42) || defined(TBQ_CRC_ARMV8)
  if (cpu_has_crc()) return split_cpu(bytes, out, capacity);
#endif
  return split_records_table(bytes, out, capacity);
}

size_t find_header(Bytes bytes, uint64_t longest) {
#if defined(TBQ_CRC_SSE42) || defined(TBQ_CRC_ARMV8)
  if (cpu_has_crc()) return find_cpu(bytes, longest);
#endif
  return find_header_table(bytes, longest);
}

bool read_header(const uint8_t* header, uint64_t& length) {
  if (crc_mask(crc32c(0, header, 8)) != load_le<uint32_t>(header + 8)) return false;
  length = load_le<uint64_t>(header);
  return true;
}

bool payload_agrees(const uint8_t* payload, size_t length, uint32_t masked) {
  return crc_mask(crc32c(0, payload, length)) == masked;
}

bool record_agrees(const uint8_t* record, uint64_t length) {
  uint64_t stored;
  const uint8_t* payload = record + kHeader;
  return read_header(record, stored) && stored == length &&
         payload_agrees(payload, static_cast<size_t>(length), load_le<uint32_t>(payload + length));
}

size_t whole_records(Bytes records) {
  Cursor cursor(records);
  size_t end = 0;
  uint64_t length;
  uint32_t crc;
  Bytes payload;
  while (cursor.fixed(length) && cursor.fixed(crc) && cursor.bytes(length, payload) && cursor.fixed(crc)) {
    end = static_cast<size_t>(cursor.position() - records.data());
  }
  return end;
}

void frame_in_place(uint8_t* payload, size_t size) {
  WireWriter header(payload - kHeader);
  header.fixed(uint64_t{size});
  header.fixed(crc_mask(crc32c(0, payload - kHeader, sizeof(uint64_t))));
  WireWriter footer(payload + size);
  footer.fixed(crc_mask(crc32c(0, payload, size)));
}

void append_record(std::string& out, Bytes payload) {
  const size_t start = out.size();
  out.resize(start + payload.size() + kOverhead);
  auto* at = reinterpret_cast<uint8_t*>(out.data()) + start + kHeader;
  if (!payload.empty()) std::memcpy(at, payload.data(), payload.size());
  frame_in_place(at, payload.size());
}

}  // namespace tbq
