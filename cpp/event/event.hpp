// The protobuf walk of Event and Summary: finds where the values lie, decodes none of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bytes/cursor.hpp"

namespace tbq {

// The tables of values. A Kinds mask has bit `1 << kind`.
enum class Kind : uint8_t {
  scalars,
  tensors,
  histograms,
  images,
  audio,
  texts,
  hparams,
  pr_curves,
  meshes,
  graphs,
  run_metadata,
  custom_scalars,
  others,
  logs,
};
constexpr size_t kKindCount = 14;
using Kinds = uint32_t;
constexpr Kinds bit(Kind kind) { return 1U << static_cast<unsigned>(kind); }
constexpr Kinds kEveryKind = (1U << kKindCount) - 1;
const char* kind_name(Kind kind);

// Which field of Summary.Value, or of Event, held a value.
enum class Form : uint8_t {
  none,  // a Value with a tag and perhaps metadata, but no value
  simple_value,
  old_histogram,
  image,
  histo,
  audio,
  tensor,
  graph_def,
  meta_graph_def,
  run_metadata,
  log_message,
  session_log,
};

// The tag that the tables give a value that stands in the Event itself; "" for all others.
constexpr std::string_view untagged_name(Form form) {
  switch (form) {
    case Form::graph_def:
      return "graph_def";
    case Form::meta_graph_def:
      return "meta_graph_def";
    case Form::log_message:
      return "log_message";
    case Form::session_log:
      return "session_log";
    default:
      return {};
  }
}

constexpr uint64_t kLargestEvent = uint64_t{1} << 31;  // protobuf's own limit

// A range of a record's payload.
struct Range {
  uint64_t offset = 0;
  uint64_t length = 0;
};

struct ValueRef {
  Form form = Form::none;
  bool has_metadata = false;
  float scalar = 0;  // for simple_value
  Range tag;
  Range payload;     // of the field that `form` names
  Range metadata;    // SummaryMetadata
  uint64_t end = 0;  // where the whole Value ends in the record's payload
};

struct EventRef {
  double wall_time = 0;
  int64_t step = 0;
  bool has_file_version = false;
  Range file_version;
  Range writer;  // source_metadata.writer
  bool session_start = false;
  bool strange = false;  // has fields that no writer is known for, or a value without one
  std::vector<ValueRef> values;

  void clear();
};

// A payload in memory, as a source for walk_event.
class MemorySource {
 public:
  explicit MemorySource(Bytes bytes) : bytes_(bytes) {}
  uint64_t size() const { return bytes_.size(); }
  // `count` bytes at `offset`, where offset + count <= size().
  const uint8_t* at(uint64_t offset, size_t /*count*/) { return bytes_.data() + offset; }

 private:
  Bytes bytes_;
};

// The fields of the message in [at, end) of a source; bytes fields come as ranges and are not read.
template <class Source>
class Fields {
 public:
  struct Item {
    uint32_t number = 0;
    Wire wire = Wire::varint;
    uint64_t value = 0;
    Range range;
    bool is(uint32_t wanted, Wire type) const { return number == wanted && wire == type; }
  };

  Fields(Source& source, Range range)
      : source_(source), at_(range.offset), end_(range.offset + range.length) {}

  // False at the end of the message, and where it is malformed: then ok() is false.
  bool next(Item& out) {
    if (at_ == end_ || !ok_) return false;
    ok_ = read(out);
    return ok_;
  }
  bool ok() const { return ok_; }

 private:
  bool read(Item& out) {
    const uint64_t left = end_ - at_;
    const size_t window = left < kWindow ? static_cast<size_t>(left) : kWindow;
    const uint8_t* bytes = source_.at(at_, window);
    if (!bytes) return false;
    Cursor cursor({bytes, window});
    uint64_t key;
    if (!cursor.varint(key) || key > UINT32_MAX || key < 8) return false;
    out.number = static_cast<uint32_t>(key >> 3);
    out.wire = static_cast<Wire>(key & 7);
    out.value = 0;
    out.range = {};
    switch (out.wire) {
      case Wire::varint:
        if (!cursor.varint(out.value)) return false;
        break;
      case Wire::fixed64:
        if (!cursor.fixed(out.value)) return false;
        break;
      case Wire::fixed32: {
        uint32_t bits;
        if (!cursor.fixed(bits)) return false;
        out.value = bits;
        break;
      }
      case Wire::bytes: {
        uint64_t length;
        if (!cursor.varint(length)) return false;
        const uint64_t start = at_ + (window - cursor.left());
        if (length > end_ - start) return false;
        out.range = {start, length};
        at_ = start + length;
        return true;
      }
      default:
        return skip_group(out);
    }
    at_ += window - cursor.left();
    return true;
  }

  // Groups ended with proto1, but a parser must be able to skip them; this one needs the whole rest in
  // memory.
  bool skip_group(Item& out) {
    const uint64_t left = end_ - at_;
    if (left > (1U << 20)) return false;
    const uint8_t* bytes = source_.at(at_, static_cast<size_t>(left));
    if (!bytes) return false;
    Cursor cursor({bytes, static_cast<size_t>(left)});
    Field field;
    if (!cursor.field(field)) return false;
    out.wire = Wire::group;
    at_ += left - cursor.left();
    return true;
  }

  static constexpr size_t kWindow = 20;  // a key and the longest varint or fixed value
  Source& source_;
  uint64_t at_;
  uint64_t end_;
  bool ok_ = true;
};

// Finds everything in the Event that `source` holds. False where the protobuf is malformed; what was found
// until then stays in `out`.
template <class Source>
bool walk_event(Source& source, EventRef& out);

// What the metadata of a tag says, first seen first kept.
struct TagMetadata {
  std::string plugin;
  std::string display_name;
  std::string description;
  uint32_t data_class = 0;
};
// False where it is malformed.
bool parse_metadata(Bytes bytes, TagMetadata& out);

// The kind of a tensor (or of no value at all) that a plugin of this name logged; "" for no plugin.
Kind kind_of_plugin(std::string_view plugin);
// The kind of a value by the field that held it; for tensor and none it takes the plugin.
Kind kind_of(Form form, std::string_view plugin);

// TensorProto.dtype by its number ("float32"), "" where it is unknown.
const char* dtype_name(uint64_t dtype);

// The value of a tensor of exactly one number. `dtype` is set whenever the protobuf could be read.
struct ScalarTensor {
  bool valid = false;
  double value = 0;
  uint64_t dtype = 0;
  bool rounded = false;           // a 64-bit integer that float64 cannot hold exactly
  const uint8_t* slot = nullptr;  // where a float32 or float64 lies in the bytes, when it lies there plainly
};
ScalarTensor scalar_of_tensor(Bytes tensor);

}  // namespace tbq
