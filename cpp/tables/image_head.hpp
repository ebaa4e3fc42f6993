// What the first bytes of an image say: its format and its size.
#pragma once

#include <cstdint>

#include "bytes/cursor.hpp"

namespace tbq {

enum ImageFormat : int32_t { kPng, kJpeg, kGif, kBmp, kWebp, kTiff, kUnknownFormat };

struct ImageHead {
  int32_t format = kUnknownFormat;
  int64_t width = -1;  // as the file itself says, -1 if it does not say
  int64_t height = -1;
};

ImageHead image_head(Bytes bytes);

}  // namespace tbq
