// Event records, encoded and framed into one growing buffer that a flusher swaps out: the writer's half of
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

// What an append tells its caller; 0 is the common case: nothing to do.
enum Status : uint32_t {
  kOk = 0,
  kWake = 1,    // the buffer was empty: start the flusher's clock
  kFull = 2,    // enough is pending: flush now
  kNote = 4,    // notes() has something to tell
  kClosed = 8,  // nothing was appended
  kOver = 32,   // appended, but more waits now than should: let the flusher catch up (16 is the binding's)
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
  size_t max_bytes = size_t{64} << 20;  // past this, appends report kOver, or are dropped and counted
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

  // One event with one scalar, or with several. Appends all or nothing.
  uint32_t scalar(const Scalar& scalar, Stamp stamp) { return scalars({&scalar, 1}, stamp); }
  uint32_t scalars(std::span<const Scalar> scalars, Stamp stamp);
  // One event with one Summary.Value: its content is `payload` as field `key >> 3`, beside an encoded
  // metadata.
  uint32_t value(std::string_view tag, uint8_t key, std::string_view payload, std::string_view metadata,
                 Stamp stamp);
  // One event whose summary, or whose fields beside wall_time and step, the caller encoded.
  uint32_t summary(std::string_view summary, Stamp stamp);
  uint32_t fields(std::string_view fields, Stamp stamp);

  // All that is pending, leaving the buffer empty. Give the chunk back to reuse its memory.
  Chunk swap_out();
  void give_back(Chunk chunk);
  // Undo that: the chunk's records are pending again, before those that came since.
  void put_back(Chunk chunk);

  std::vector<Note> notes();
  // Tell once when the first step that is logged lies before `step`.
  void expect_after(std::optional<int64_t> step);
  // Make every append report kNote until called with false: how the flusher gets a caller's attention.
  void call_attention(bool on);
  // Whether events past max_bytes are dropped and counted: only while nothing can be written.
  void drop_past_limit(bool on);
  void close();
  // Forget what is pending: in the child of a fork, the parent writes it.
  void forget();
  // Forget which steps were logged: another session begins.
  void forget_steps();
  size_t pending_bytes() const;
  uint64_t dropped() const;

 private:
  struct TagState {
    int64_t last = 0;
    std::optional<double> value;  // of its last scalar
    bool seen = false;
    bool reported = false;
  };

  // One event: `fill(out)` puts the `size` bytes after its stamp.
  template <class Fill, class Watch>
  uint32_t append(size_t size, Stamp stamp, Fill&& fill, Watch&& watch_steps);
  // Room for a record with `payload` bytes, or null if it is dropped.
  uint8_t* open_record(size_t payload);
  uint32_t close_record(uint8_t* payload, size_t size);
  // A scalar that is logged again with its value is no mistake: trainers log `epoch` beside all they log.
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
