// Encodes and frames event records into one growing buffer, which a flusher swaps out: the writer's half of
// the core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bytes/seeded_hash.hpp"
#include "write/encode.hpp"

namespace tbq {

// The result of an append. 0, the common case, means that the caller has nothing to do.
enum Status : uint32_t {
  kOk = 0,
  kWake = 1,    // the buffer was empty: start the flusher's clock
  kFull = 2,    // enough is pending: flush now
  kNote = 4,    // notes() has something to report
  kClosed = 8,  // nothing was appended
  kOver = 32,   // appended, but over the limit: let the flusher catch up (16 belongs to the binding)
};

struct Note {
  enum Kind : uint8_t { backwards, stuck, behind, dropped };
  Kind kind;
  std::string tag;
  int64_t before;
  int64_t step;
};

struct BufferLimits {
  size_t full_bytes = size_t{1} << 20;
  size_t full_events = SIZE_MAX;
  size_t max_bytes = size_t{64} << 20;  // beyond this, appends report kOver, or are dropped and counted
  bool watch_steps = true;              // note steps that go back
};

// Bytes of whole records, in the order they were appended.
struct Chunk {
  std::unique_ptr<uint8_t[]> data;
  size_t size = 0;
  size_t capacity = 0;
  size_t events = 0;
};

class EventBuffer {
 public:
  explicit EventBuffer(BufferLimits limits) : limits_(limits) {}
  EventBuffer(const EventBuffer&) = delete;
  EventBuffer& operator=(const EventBuffer&) = delete;

  // Appends one event with one scalar, or with several; all of it or nothing.
  uint32_t scalar(const Scalar& scalar, Stamp stamp) { return scalars({&scalar, 1}, stamp); }
  uint32_t scalars(std::span<const Scalar> scalars, Stamp stamp);
  // Appends one event with one Summary.Value: `payload` as its field `key >> 3`, and encoded `metadata`.
  uint32_t value(std::string_view tag, uint8_t key, std::string_view payload, std::string_view metadata,
                 Stamp stamp);
  // Appends one event with a summary, or with other fields than wall_time and step, that the caller encoded.
  uint32_t summary(std::string_view summary, Stamp stamp);
  uint32_t fields(std::string_view fields, Stamp stamp);

  // Returns all pending records and leaves the buffer empty. Pass the chunk to give_back() to reuse its
  // memory.
  Chunk swap_out();
  void give_back(Chunk chunk);
  // Undoes swap_out(): the chunk's records are pending again, before those that came since.
  void put_back(Chunk chunk);

  // Whether a value was logged under this tag since the session began.
  bool has_tag(std::string_view tag) const;
  std::vector<Note> notes();
  // Adds one note if the first logged step is smaller than `step`.
  void expect_after(std::optional<int64_t> step);
  // Makes every append report kNote until called with false: how the flusher gets a caller's attention.
  void call_attention(bool on);
  // Whether to drop and count events beyond max_bytes: only while nothing can be written.
  void drop_past_limit(bool on);
  void close();
  // Forgets pending records: in a forked child, because the parent writes them.
  void forget();
  // Forgets which steps were logged: another session begins.
  void forget_steps();
  size_t pending_bytes() const;
  uint64_t dropped() const;

 private:
  struct TagState {
    int64_t last = 0;
    std::optional<double> value;  // the value of its last scalar
    bool seen = false;
    bool reported = false;
  };

  // Appends one event: `fill(out)` writes the `size` bytes after its stamp.
  template <class Fill, class Watch>
  uint32_t append(size_t size, Stamp stamp, Fill&& fill, Watch&& watch_steps);
  // Makes room for a record with `payload` bytes; null if it is dropped.
  uint8_t* open_record(size_t payload);
  uint32_t close_record(uint8_t* payload, size_t size);
  // A scalar logged again with the same value is not a mistake: trainers log `epoch` with every other value.
  void watch(std::string_view tag, Stamp stamp, std::optional<double> value = std::nullopt);
  void watch_first(Stamp stamp);

  mutable std::mutex mutex_;
  BufferLimits limits_;
  Chunk pending_;
  Chunk spare_;
  NameMap<TagState> tags_;
  std::vector<Note> notes_;
  std::optional<int64_t> expected_after_;
  uint64_t dropped_ = 0;
  bool dropping_ = false;
  bool reported_full_ = false;
  bool reported_dropped_ = false;
  bool attention_ = false;
  bool closed_ = false;
};

}  // namespace tbq
