// Iterates over the fields of a message in memory or in a file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bytes/cursor.hpp"
#include "io/input.hpp"

namespace tbq {

// A range of a record's payload.
struct Range {
  uint64_t offset = 0;
  uint64_t length = 0;
};

// A payload in memory, as a source of fields.
class MemorySource {
 public:
  explicit MemorySource(Bytes bytes) : bytes_(bytes) {}
  uint64_t size() const { return bytes_.size(); }
  // `count` bytes at `offset`, where offset + count <= size().
  const uint8_t* at(uint64_t offset, size_t /*count*/) { return bytes_.data() + offset; }

 private:
  Bytes bytes_;
};

// A payload in a file: reads only the bytes that are asked for.
class FileSource {
 public:
  FileSource(BlockReader& reader, uint64_t offset, uint64_t size)
      : reader_(reader), offset_(offset), size_(size) {}
  uint64_t size() const { return size_; }
  // The same; null if the file no longer has these bytes.
  const uint8_t* at(uint64_t offset, size_t count) { return reader_.view(offset_ + offset, count); }

 private:
  BlockReader& reader_;
  uint64_t offset_;
  uint64_t size_;
};

// The fields of the message in [at, end) of a source; bytes fields are returned as ranges and not read.
template <class Source>
class Fields {
 public:
  struct Item : Field {
    Range range;  // for Wire::bytes
  };

  Fields(Source& source, Range range)
      : source_(source), at_(range.offset), end_(range.offset + range.length) {}

  // Returns false at the end of the message, or if it is malformed: then ok() is false.
  bool next(Item& out) {
    if (at_ == end_ || !ok_) return false;
    ok_ = read(out);
    return ok_;
  }
  bool ok() const { return ok_; }
  // The offset of the field that next() will read.
  uint64_t at() const { return at_; }

 private:
  bool read(Item& out) {
    if (!item(out)) return false;
    if (out.wire != Wire::group) return out.wire != Wire::end_group;
    OpenGroups open(out.number);
    for (Item inner; open.any();) {
      if (at_ == end_ || !item(inner) || !open.note(inner.number, inner.wire)) return false;
    }
    return true;
  }

  // A field, or the start or end of a group.
  bool item(Item& out) {
    const auto window = static_cast<size_t>(std::min<uint64_t>(end_ - at_, kWindow));
    const uint8_t* bytes = source_.at(at_, window);
    if (!bytes) return false;
    Cursor cursor({bytes, window});
    if (!cursor.head(out)) return false;
    at_ += window - cursor.left();
    out.range = {};
    if (out.wire != Wire::bytes) return true;
    if (out.value > end_ - at_) return false;
    out.range = {at_, out.value};
    at_ += out.value;
    return true;
  }

  static constexpr size_t kWindow = 20;  // a key and the longest varint or fixed value
  Source& source_;
  uint64_t at_;
  uint64_t end_;
  bool ok_ = true;
};

}  // namespace tbq
