// Reads an image's format and size from its first bytes.
#pragma once

#include <cstdint>

#include "bytes/cursor.hpp"

namespace tbq {

enum ImageFormat : int32_t { kPng, kJpeg, kGif, kBmp, kWebp, kTiff, kUnknownFormat };

struct ImageHead {
  int32_t format = kUnknownFormat;
  int64_t width = -1;  // as stated in the file; -1 if it is not
  int64_t height = -1;
};

ImageHead image_head(Bytes bytes);

}  // namespace tbq
