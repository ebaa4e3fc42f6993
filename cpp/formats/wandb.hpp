// Reads a `.wandb` file while it grows: LevelDB's log framing, and the protobuf records of W&B in it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bytes/cursor.hpp"
#include "formats/json_number.hpp"
#include "write/event_buffer.hpp"

namespace tbq {

// Bytes of a file that cannot be read, and why.
struct WandbFault {
  uint64_t offset = 0;
  uint64_t length = 0;
  const char* code = "";  // of decode/problems.py
};

// The walk over the logical records of a file. The caller gives it the bytes from `position()` on.
class WandbWalk {
 public:
  static constexpr size_t kHead = 7;  // of the file, and of each record
  static constexpr size_t kBlock = size_t{1} << 15;
  static constexpr size_t kLongest = size_t{1} << 28;  // a longer record is skipped

  // The next record of the file. `data` begins at `offset`, at most at position(). Returns none if no
  // complete record is left; then position() is where the unfinished one begins, and the walk reads on from
  // there once there are more bytes. The record is valid until the next call.
  std::optional<Bytes> next(Bytes data, uint64_t offset);

  uint64_t position() const { return position_; }
  // Counts the record that `next` returned last as damaged.
  void lose_last(const char* code) { lose(last_, position_, code); }
  std::vector<WandbFault>& faults() { return faults_; }

 private:
  // Where reading continues after bytes at `at` that are not a valid record.
  size_t resume_after(Bytes data, uint64_t offset, size_t at) const;
  void lose(uint64_t from, uint64_t to, const char* code);

  uint64_t position_ = kHead;
  uint64_t last_ = kHead;  // where the record that `next` returned begins
  std::vector<uint8_t> joined_;
  std::vector<WandbFault> faults_;
};

// Translates the numbers of a `.wandb` file to events. Everything else is left to the caller.
class WandbReader {
 public:
  // If not `exact`, numbers are written as float32, which every TensorBoard shows.
  explicit WandbReader(bool exact) : exact_(exact) {}

  // A record to be handled by the caller: the number of its field in `Record`, and its message. Only a
  // history has a time; others get the latest time so far.
  struct Other {
    uint32_t field = 0;
    int64_t step = 0;
    double wall_time = 0;
    Bytes message;
  };

  // Reads records from `data`, which begins at `offset`, until one is for the caller, or `out` has `enough`
  // bytes, or no complete record is left.
  std::optional<Other> read(Bytes data, uint64_t offset, size_t enough, EventBuffer& out);

  WandbWalk& walk() { return walk_; }

 private:
  bool history(Bytes message, EventBuffer& out, Other& other);
  void stats(Bytes message, EventBuffer& out);
  // The parts of a key, joined; valid until the next record.
  std::string_view name(std::string_view first, const std::string_view* rest, size_t count);

  Scalar scalar_of(std::string_view tag, const JsonNumber& value) const;

  const bool exact_;
  WandbWalk walk_;
  int64_t step_ = 0;          // of the last history
  int64_t system_step_ = -1;  // of the last system metrics: every sample gets a step of its own
  double latest_ = 0;         // the latest time so far
  std::vector<Scalar> scalars_;
  std::deque<std::string> names_;  // of nested keys
  size_t used_names_ = 0;
  std::vector<std::string> objects_;  // the beginnings of the tags of images, histograms, …
};

}  // namespace tbq
