// What is kept while decoding: per tag of one part of a file, the columns of scalars and the bytes of other
// values.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bytes/cursor.hpp"
#include "event/event.hpp"
#include "event/span.hpp"
#include "io/slab.hpp"

namespace tbq {

// Memory in large slabs (on large pages where the system has them), handed out in a few sizes and used again.
// Touching fresh memory costs more than decoding into it. One Pool belongs to one thread at a time.
class Pool {
 public:
  // Without wall times, rows take two thirds of the room: their column is that of the values.
  explicit Pool(bool walls = true) : columns_(walls ? 3 : 2) {}

  // Columns of `rows` numbers of eight bytes; rows is kSmallest times a power of four, at most kLargest.
  struct Block {
    std::shared_ptr<void> slab;
    uint8_t* data = nullptr;
    uint32_t rows = 0;
    uint32_t columns = 0;
    bool handed = false;  // a table points into it: not to be used again
    size_t bytes() const { return columns * stride(rows) * sizeof(double); }
  };
  Block take(uint32_t rows);
  // The first block of a series: of kFirst rows, or of kSmallest once there are very many series.
  Block first();
  void give_back(Block&& block);
  // Memory that is not given back, from the same slabs, aligned to 64 bytes.
  Block raw(size_t bytes);

  static constexpr uint32_t kSmallest = 16;
  static constexpr uint32_t kFirst = 256;
  static constexpr uint32_t kLargest = 65536;

  // From one column of a block to the next, in rows. A cache line more than the rows need: columns that are
  // filled in step would otherwise lie a power of two apart, and all fall into one set of the cache.
  static constexpr size_t stride(uint32_t rows) { return rows + (rows < kFirst ? 0U : 8U); }

 private:
  uint8_t* carve(size_t bytes);
  uint32_t columns_;
  std::shared_ptr<void> slab_;
  uint8_t* at_ = nullptr;
  size_t left_ = 0;
  size_t next_slab_ = 256 * 1024;
  size_t firsts_ = 0;
  std::vector<Block> free_[7];  // by size: kSmallest, four times that, …, kLargest
};

// Where the rows of one tag in one session lie, and what is known of them, stored or not.
struct Segment {
  uint32_t session = 0;  // index into the part's sessions
  uint64_t begin = 0;    // first stored row
  uint64_t end = 0;      // behind the last stored row
  Span seen;             // of all values, stored or not
};

// One chunk of scalar rows: its columns in one block. Wall times that nobody wants share the column of the
// values, which are written behind them.
struct ScalarChunk {
  Pool::Block block;
  uint32_t rows = 0;
  int64_t* steps() const { return reinterpret_cast<int64_t*>(block.data); }
  bool has_walls() const { return block.columns == 3; }
  double* walls() const { return reinterpret_cast<double*>(block.data) + Pool::stride(block.rows); }
  double* values() const {
    return reinterpret_cast<double*>(block.data) + (block.columns - 1) * Pool::stride(block.rows);
  }
};

// The segments of a series; the newest one is open, and its `end` is true only after finish().
class Segments {
 public:
  // Counts a value in the segment of `session`, where `stored` rows have been stored before it.
  void note(uint32_t session, uint64_t stored, int64_t step, double wall) {
    if (session == session_ && step > open_->seen.max_step) {
      Span& seen = open_->seen;
      ++seen.count;
      seen.last_step = seen.max_step = step;
      seen.last_wall = wall;
    } else {
      note_unusual(session, stored, step, wall);
    }
  }
  bool is_open(uint32_t session) const { return session == session_; }
  void finish(uint64_t stored) {
    if (open_) open_->end = stored;
  }
  std::vector<Segment> all;

 private:
  void note_unusual(uint32_t session, uint64_t stored, int64_t step, double wall);
  uint32_t session_ = UINT32_MAX;
  Segment* open_ = nullptr;
};

// The scalars of one tag.
struct ScalarSeries {
  int64_t* step_at = nullptr;
  double* wall_at = nullptr;
  double* value_at = nullptr;
  uint32_t size = 0;  // rows in the last chunk
  uint32_t capacity = 0;
  uint32_t open = UINT32_MAX;  // the session whose values need nothing but append()
  uint32_t skip = UINT32_MAX;  // the session whose values need nothing at all
  bool whole = false;          // every value is stored: what segments say is learnt from the rows, at the end
  uint64_t before = 0;         // rows in earlier chunks
  std::vector<ScalarChunk> chunks;
  Segments segments;

  uint64_t rows() const { return before + size; }
  void append(Pool& pool, int64_t step, double wall, double value) {
    if (size == capacity) grow(pool);
    step_at[size] = step;
    wall_at[size] = wall;
    value_at[size] = value;  // in this order: they may be one column
    // Dozens of columns grow at a time, more than the CPU follows by itself.
    will_write(step_at, size + 16);
    will_write(wall_at, size + 16);
    will_write(value_at, size + 16);
    ++size;
  }
  // Makes row counts true; after this nothing may be appended.
  void finish() {
    if (!chunks.empty()) chunks.back().rows = size;
    segments.finish(rows());
    if (whole) measure();
  }
  void release(Pool& pool);

 private:
  void grow(Pool& pool);
  void measure();
};

// One value that is no scalar: its bytes, or where they lie in the file. Lengths are below 2^31, as an
// event's are.
struct BlobRow {
  int64_t step = 0;
  double wall_time = 0;
  const uint8_t* payload = nullptr;
  const uint8_t* metadata = nullptr;  // this event's own SummaryMetadata, null where it has none
  uint64_t record = 0;                // file offset of the record
  uint32_t record_length = 0;         // of its payload
  uint32_t payload_length = 0;
  uint32_t metadata_length = 0;
  uint32_t payload_offset = 0;  // inside the record's payload, for deferred rows
  uint32_t file = 0;
  uint32_t run = 0;  // set when the table is made
  uint32_t tag = 0;  // set when the table is made
  uint32_t triples =
      0;  // how many of a histogram lie in columns (see Triples); 0 where `payload` has the bytes
  uint32_t apart = 0;  // doubles from one of these columns to the next
  Form form = Form::none;
  bool deferred = false;  // the payload is at an offset into the record at `record` of the file
};

using BlobTable = std::vector<BlobRow, SlabAllocator<BlobRow>>;

// Histograms are tensors of [k, 3] doubles. Where a tag has many they are kept as three columns, to which a
// table can point.
class Triples {
 public:
  // The doubles of a tensor that is [k, 3] float64 and holds them in tensor_content; empty where it is
  // anything else.
  Bytes numbers(Bytes tensor);
  uint64_t left() const { return left_; }
  // New columns of `capacity` triples, whole lines of them, in memory for as many that is aligned to lines;
  // what is left of those before is given up.
  void grow(uint8_t* memory, uint32_t capacity);
  // Moves `numbers` into the columns, where there must be room, and lets the row's payload be the first of
  // them.
  void append(Bytes numbers, BlobRow& row);
  // Makes all rows readable; nothing can be appended before it grows again.
  void flush();
  static constexpr size_t kTriple = 3 * sizeof(double);
  static constexpr size_t kLine = 64 / sizeof(double);

 private:
  alignas(16) double line_[3][kLine];  // of each column, the line that is not full yet
  size_t open_ = 0;                    // doubles in those
  double* lines_ = nullptr;            // where they will be in the first column
  uint32_t apart_ = 0;
  uint32_t left_ = 0;
  std::string head_;  // what stood before the numbers in the last tensor
  size_t size_ = 0;   // of that tensor
};

// The rows of one series, in blocks of a pool.
class BlobRows {
 public:
  size_t size() const { return before_ + used_; }
  BlobRow& operator[](size_t i) { return *at(i); }
  const BlobRow& operator[](size_t i) const { return *at(i); }
  const BlobRow& front() const { return *at(0); }
  BlobRow& add(Pool& pool) {
    if (used_ == capacity_) grow(pool);
    return *new (rows_ + used_++) BlobRow;
  }
  void release(Pool& pool);

 private:
  // The first block grows by copying; each one behind it but the last is full.
  static size_t capacity(const Pool::Block& block) { return block.bytes() / sizeof(BlobRow); }
  BlobRow* at(size_t i) const {
    size_t block = 0;
    if (const size_t first = capacity(blocks_[0]); i >= first) {
      const size_t each = capacity(blocks_[1]);
      block = 1 + (i - first) / each;
      i = (i - first) % each;
    }
    return reinterpret_cast<BlobRow*>(blocks_[block].data) + i;
  }
  void grow(Pool& pool);

  std::vector<Pool::Block> blocks_;
  BlobRow* rows_ = nullptr;  // of the last block
  size_t used_ = 0;          // in the last block
  size_t capacity_ = 0;      // of the last block
  size_t before_ = 0;        // rows in earlier blocks
};

struct BlobSeries {
  BlobRows rows;
  Segments segments;
  std::unique_ptr<Triples> triples;  // once there are some
};

// An event of one value that is no scalar, from behind its step on, in which only the payload changes.
struct BlobTemplate {
  std::string before;
  std::string behind;
  ValueRef value;  // its ranges are from behind the step on
  Kind kind = Kind::others;
  BlobSeries* series = nullptr;
};

// Bytes that live as long as the arena, in blocks that grow; from some size on they are slabs.
class Arena {
 public:
  const uint8_t* copy(const uint8_t* data, size_t size);
  size_t size() const { return size_; }

 private:
  uint8_t* block(size_t bytes);
  std::vector<std::shared_ptr<void>> blocks_;
  uint8_t* at_ = nullptr;
  size_t left_ = 0;
  size_t next_ = 4096;
  size_t size_ = 0;
};

// An event of one scalar, from behind its step on, in which only the number changes: remembered to know the
// next one at once. Writers write the same bytes for a tag each time.
class Template {
 public:
  // `bytes` with a float (width 4) or a double (width 8) at `slot`.
  void learn(Bytes bytes, size_t slot, uint32_t width);
  bool known() const { return width_ > 0; }

  // Whether the `size` bytes before `end` are like it. Fifteen more before them must be readable.
  bool fits(const uint8_t* end, size_t size) const {
    if (size != size_) return false;
    for (const Block& block : blocks_) {
      end -= 16;
      const uint64_t low = (load_le<uint64_t>(end) ^ block.want[0]) & block.mask[0];
      const uint64_t high = (load_le<uint64_t>(end + 8) ^ block.want[1]) & block.mask[1];
      if (low | high) return false;
    }
    return true;
  }
  double number(const uint8_t* data) const {
    return width_ == 4 ? load_le<float>(data + slot_) : load_le<double>(data + slot_);
  }

 private:
  // Sixteen bytes and which of them count, from the last ones to the first.
  struct Block {
    uint64_t want[2] = {};
    uint64_t mask[2] = {};
  };
  std::vector<Block> blocks_;
  size_t size_ = 0;
  uint32_t slot_ = 0;
  uint32_t width_ = 0;
};

// The first SummaryMetadata of a tag in one session.
struct SessionMetadata {
  uint32_t session = 0;  // index into the part's sessions
  std::shared_ptr<const TagMetadata> parsed;
  Bytes bytes;
};

// Everything known of one tag in one part.
struct TagEntry {
  TagEntry* next = nullptr;  // the tag that followed this one the last time
  Template shape;
  ScalarSeries scalars;
  std::string tag;
  bool selected = true;
  // The plugin that decides the kind of its tensors: of the first metadata of the run. Until that is known it
  // is assumed to be "", and a part that assumed wrongly is decoded again (see PartOptions::plugins).
  std::string plugin;
  bool plugin_known = false;
  bool assumed = false;  // a value's kind was decided by an assumed plugin
  // What this part itself says: sessions that come later in the file may have begun earlier.
  std::vector<SessionMetadata> metadata;
  uint64_t dtype = 0;  // of its first tensor
  std::unique_ptr<BlobTemplate> blob_shape;
  uint64_t rounded = 0;                           // integers that float64 could not hold
  uint64_t refused = 0;                           // values of a scalar tag that are not exactly one number
  std::unordered_map<uint8_t, BlobSeries> blobs;  // by kind
};

class TagTable {
 public:
  TagEntry* find(std::string_view tag) const {
    const auto found = by_name_.find(tag);
    return found == by_name_.end() ? nullptr : found->second;
  }
  TagEntry& add(std::string_view tag);
  std::vector<std::unique_ptr<TagEntry>> all;

 private:
  std::unordered_map<std::string_view, TagEntry*> by_name_;
};

}  // namespace tbq
