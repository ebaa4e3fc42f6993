// Encodes scalar events as torch and tf.summary write them, for corpora that would take those writers
// minutes. A shared library for ctypes (corpora.py), which checks its bytes against the real writers.

#include "crc.hpp"

namespace {

uint8_t* put_varint(uint8_t* out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *out++ = static_cast<uint8_t>(value | 0x80);
  *out++ = static_cast<uint8_t>(value);
  return out;
}

uint8_t* put(uint8_t* out, const void* data, size_t size) {
  std::memcpy(out, data, size);
  return out + size;
}

}  // namespace

extern "C" {

uint32_t record_crc(const uint8_t* data, uint64_t size) { return masked_crc(data, size); }

// Writes `count` records to `out` and returns their size; 2 * tag + 128 bytes per record are enough. Event i
// has the tag `codes[i]`: at most 100 bytes in `tags`, from offsets[code] to offsets[code + 1]. `tensor`: a
// rank-0 float tensor with its metadata, as tf.summary.scalar; else simple_value, as torch.
uint64_t encode_scalars(uint8_t* out, uint64_t count, const int32_t* codes, const int64_t* steps,
                        const double* walls, const float* values, const uint8_t* tags,
                        const uint32_t* offsets, int32_t tensor) {
  static constexpr uint8_t tensor_head[] = {0x42, 10, 0x08, 1, 0x12, 0, 0x22, 4};
  static constexpr uint8_t metadata[] = {0x4a, 11, 0x0a, 9, 0x0a, 7, 's', 'c', 'a', 'l', 'a', 'r', 's'};
  uint8_t* const begin = out;
  for (uint64_t i = 0; i < count; ++i) {
    const uint8_t* tag = tags + offsets[codes[i]];
    const size_t tag_size = offsets[codes[i] + 1] - offsets[codes[i]];
    const size_t value_size = 2 + tag_size + (tensor ? sizeof tensor_head + 4 + sizeof metadata : 5);
    uint8_t* const payload = out + 12;
    uint8_t* p = payload;
    *p++ = 0x09;
    p = put(p, &walls[i], 8);
    if (steps[i] != 0) {
      *p++ = 0x10;
      p = put_varint(p, static_cast<uint64_t>(steps[i]));
    }
    *p++ = 0x2a;
    p = put_varint(p, value_size + 2);
    *p++ = 0x0a;
    p = put_varint(p, value_size);
    *p++ = 0x0a;
    p = put_varint(p, tag_size);
    p = put(p, tag, tag_size);
    if (tensor) {
      p = put(p, tensor_head, sizeof tensor_head);
      p = put(p, &values[i], 4);
      p = put(p, metadata, sizeof metadata);
    } else {
      *p++ = 0x15;
      p = put(p, &values[i], 4);
    }
    const uint64_t size = static_cast<uint64_t>(p - payload);
    const uint32_t header_crc = masked_crc_u64(size);
    const uint32_t payload_crc = masked_crc(payload, size);
    put(out, &size, 8);
    put(out + 8, &header_crc, 4);
    out = put(p, &payload_crc, 4);
  }
  return static_cast<uint64_t>(out - begin);
}
}
