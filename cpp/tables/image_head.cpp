// Reads the heads of PNG, JPEG, GIF, BMP, WebP and TIFF files.
#include "tables/image_head.hpp"

namespace tbq {
namespace {

uint32_t big32(const uint8_t* at) {
  return static_cast<uint32_t>(at[0]) << 24 | static_cast<uint32_t>(at[1]) << 16 |
         static_cast<uint32_t>(at[2]) << 8 | at[3];
}
uint32_t big16(const uint8_t* at) { return static_cast<uint32_t>(at[0]) << 8 | at[1]; }

// The size of a JPEG is in its first frame header, after any number of other segments.
void jpeg_size(Bytes bytes, ImageHead& head) {
  size_t at = 2;
  while (bytes.size() - at >= 4) {
    const uint8_t* segment = bytes.data() + at;
    if (segment[0] != 0xff) return;
    const uint8_t marker = segment[1];
    if (marker == 0xff) {
      ++at;
      continue;
    }
    const size_t length = big16(segment + 2);
    const bool frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (frame) {
      if (bytes.size() - at < 9) return;
      head.height = big16(segment + 5);
      head.width = big16(segment + 7);
      return;
    }
    if (length < 2 || length > bytes.size() - at - 2) return;
    at += 2 + length;
  }
}

void webp_size(Bytes bytes, ImageHead& head) {
  const uint8_t* at = bytes.data();
  if (stands_at(bytes, "VP8X", 12) && bytes.size() >= 30) {
    head.width = 1 + (at[24] | at[25] << 8 | at[26] << 16);
    head.height = 1 + (at[27] | at[28] << 8 | at[29] << 16);
  } else if (stands_at(bytes, "VP8L", 12) && bytes.size() >= 25) {
    const auto bits = load_le<uint32_t>(at + 21);
    head.width = 1 + (bits & 0x3fff);
    head.height = 1 + (bits >> 14 & 0x3fff);
  } else if (stands_at(bytes, "VP8 ", 12) && bytes.size() >= 30) {
    head.width = load_le<uint16_t>(at + 26) & 0x3fff;
    head.height = load_le<uint16_t>(at + 28) & 0x3fff;
  }
}

}  // namespace

ImageHead image_head(Bytes bytes) {
  ImageHead head;
  const uint8_t* at = bytes.data();
  if (stands_at(bytes, "\x89PNG\r\n\x1a\n")) {
    head.format = kPng;
    if (bytes.size() >= 24) {
      head.width = big32(at + 16);
      head.height = big32(at + 20);
    }
  } else if (stands_at(bytes, "\xff\xd8\xff")) {
    head.format = kJpeg;
    jpeg_size(bytes, head);
  } else if (stands_at(bytes, "GIF87a") || stands_at(bytes, "GIF89a")) {
    head.format = kGif;
    if (bytes.size() >= 10) {
      head.width = load_le<uint16_t>(at + 6);
      head.height = load_le<uint16_t>(at + 8);
    }
  } else if (stands_at(bytes, "BM") && bytes.size() >= 26) {
    head.format = kBmp;
    head.width = load_le<int32_t>(at + 18);
    const int64_t height = load_le<int32_t>(at + 22);
    head.height = height < 0 ? -height : height;  // negative: the rows are stored top down
  } else if (stands_at(bytes, "RIFF") && stands_at(bytes, "WEBP", 8)) {
    head.format = kWebp;
    webp_size(bytes, head);
  } else if (stands_at(bytes, std::string_view("II*\0", 4)) ||
             stands_at(bytes, std::string_view("MM\0*", 4))) {
    head.format = kTiff;
  }
  return head;
}

}  // namespace tbq
