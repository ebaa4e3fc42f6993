// Writes entire cache lines of each column past the caches.
#include "decode/histogram_columns.hpp"

#include <algorithm>
#include <cstring>

#include "event/tensor.hpp"

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define TBQ_STREAM 1
#endif

namespace tbq {
namespace {

// Writes an entire cache line past the caches. Lines that are only written then need not be fetched first,
// which is half the cost of writing many columns at once.
inline void stream_line(double* to, const double* from) {
#ifdef TBQ_STREAM
  for (size_t i = 0; i < 8; i += 2) _mm_stream_pd(to + i, _mm_load_pd(from + i));
#else
  std::memcpy(to, from, 8 * sizeof(double));
#endif
}
// Makes lines written that way visible to other threads.
inline void stream_end() {
#ifdef TBQ_STREAM
  _mm_sfence();
#endif
}

}  // namespace

Bytes HistogramColumns::numbers(Bytes tensor) {
  if (tensor.size() == size_ && std::memcmp(tensor.data(), head_.data(), head_.size()) == 0) {
    return tensor.subspan(head_.size());
  }
  const TensorView view = read_tensor(tensor);
  if (!view.ok() || view.dtype != Dtype::float64 || view.rank != 2 || view.dims[1] != 3 || view.count == 0 ||
      view.content.size() % sizeof(double) != 0 || view.content.size() / sizeof(double) != view.count) {
    return {};
  }
  // Fields after the numbers could change their meaning.
  if (view.content.data() + view.content.size() != tensor.data() + tensor.size()) return {};
  head_ = as_text(tensor.first(tensor.size() - view.content.size()));
  size_ = tensor.size();
  return view.content;
}

void HistogramColumns::grow(uint8_t* memory, uint32_t capacity) {
  flush();
  lines_ = reinterpret_cast<double*>(memory);
  stride_ = left_ = capacity;
}

void HistogramColumns::append(Bytes numbers, BlobRow& row) {
  const uint8_t* from = numbers.data();
  const size_t count = numbers.size() / kBin;
  row.payload = reinterpret_cast<const uint8_t*>(lines_ + open_);
  row.bins = static_cast<uint32_t>(count);
  row.stride = stride_;
  left_ -= static_cast<uint32_t>(count);
  for (size_t done = 0; done < count;) {
    const size_t some = std::min(count - done, kLine - open_);
    for (size_t i = 0; i < some; ++i, from += kBin) {
      line_[0][open_ + i] = load_le<double>(from);
      line_[1][open_ + i] = load_le<double>(from + 8);
      line_[2][open_ + i] = load_le<double>(from + 16);
    }
    done += some;
    open_ += some;
    if (open_ < kLine) break;
    for (size_t column = 0; column < 3; ++column) stream_line(lines_ + column * stride_, line_[column]);
    lines_ += kLine;
    open_ = 0;
  }
}

void HistogramColumns::flush() {
  for (size_t column = 0; column < 3 && open_ > 0; ++column) {
    std::memcpy(lines_ + column * stride_, line_[column], open_ * sizeof(double));
  }
  open_ = 0;
  lines_ = nullptr;
  left_ = 0;
  stream_end();
}

}  // namespace tbq
