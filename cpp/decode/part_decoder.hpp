// The decoder of one part: turns the records that the walker finds into rows. It has three files: the loop
// (part.cpp), the values of an event (part_values.cpp), and large records (part_large.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "decode/fast_blobs.hpp"
#include "decode/fast_scalars.hpp"
#include "decode/part.hpp"
#include "event/event.hpp"
#include "record/framing.hpp"
#include "record/walker.hpp"

namespace tbq {

// The bytes of an event, in memory or in the file.
class EventBytes {
 public:
  explicit EventBytes(Bytes memory) : memory_(memory), size_(memory.size()) {}
  explicit EventBytes(FileSource& source) : source_(&source), size_(source.size()) {}

  // Empty if the file no longer has these bytes.
  Bytes of(Range range) const { return source_ ? read(range) : memory_.subspan(range.offset, range.length); }
  uint64_t size() const { return size_; }
  // All bytes; empty if they are in the file.
  Bytes memory() const { return memory_; }
  // Calls `take` with each value of the event that these bytes are.
  template <class Take>
  void each_value(EventRef& event, Take&& take) const {
    if (source_) return tbq::each_value(*source_, event, take);
    MemorySource memory(memory_);
    tbq::each_value(memory, event, take);
  }

 private:
  Bytes read(Range range) const;
  Bytes memory_;
  FileSource* source_ = nullptr;
  uint64_t size_;
};

// The value's tag. A value in the Event itself has a fixed one.
std::string_view tag_of(const ValueRef& value, const EventBytes& bytes);

// The lead_bit() of the value's message; 0 if the message is empty.
uint64_t lead_of(const ValueRef& value, const EventBytes& bytes);

class PartDecoder {
 public:
  PartDecoder(const File& file, BlockReader& reader, Pool& pool, const PartOptions& options, Part& out);
  void run(uint64_t begin, uint64_t limit);

  // The functions that RecordWalker calls.
  bool records(const Frame* frames, size_t count, uint64_t at);
  Large large(uint64_t at, uint64_t length);
  bool large_record(uint64_t at, uint64_t length, Bytes payload);
  void refused(uint64_t at, uint64_t length);
  bool lost(FaultCode code, uint64_t at, uint64_t length);
  void passed(uint64_t bytes);

 private:
  // The fast paths only store values: the first event of a session, and the first after damage, carry more.
  bool fast() const {
    return !after_fault_ && now_->times.known && now_->first_event.known && !options_.general_only;
  }
  void one_record(uint64_t at, Bytes payload);
  bool fast_blob(uint64_t at, Bytes payload);
  void general_record(uint64_t at, Bytes payload);
  void add_tally(Tally& tally);
  void add_fault(FaultCode code, uint64_t at, uint64_t length);
  void begin_session(const Session& session);
  void note_record(double wall) {
    ++part_.records;
    ++now_->records;
    now_->times.add(wall);
  }
  void finish();

  // ---- part_values.cpp: the event in event_, from the record at `at`
  void add_event(uint64_t at, const EventBytes& bytes);
  void add_value(uint64_t at, const ValueRef& value, const EventBytes& bytes);
  bool add_scalar_tensor(TagEntry& entry, const ValueRef& value, const EventBytes& bytes);
  void add_blob(uint64_t at, const ValueRef& value, const EventBytes& bytes, const TagEntry& entry,
                BlobSeries& series, Kind kind);
  void learn_metadata(TagEntry& entry, const ValueRef& value, const EventBytes& bytes);
  bool knows_metadata(const TagEntry& entry) const {
    return !entry.metadata.empty() && entry.metadata.back().session == session_;
  }
  bool alone(const ValueRef& value, const EventBytes& bytes) const;
  // The tag by the name that it has in the run.
  std::string_view name_of(const ValueRef& value, const EventBytes& bytes) const;
  TagEntry& entry_of(const ValueRef& value, const EventBytes& bytes);
  bool known_elsewhere(const std::string& tag, std::string& plugin) const;
  bool selected(std::string_view tag) const {
    return !options_.select || !*options_.select || (*options_.select)(options_.run, tag);
  }
  bool in_range(int64_t step) const { return step >= options_.first_step && step <= options_.last_step; }
  bool wants(Kind kind) const { return (options_.kinds & bit(kind)) != 0; }

  // ---- part_large.cpp
  enum class Use {
    none,  // it may be skipped: it agrees with what is known
    tags,  // only what it says about its tags, once it is verified
    rows,  // rows, or facts that only a verified record can state
  };
  Use use_of(uint64_t at, uint64_t length);
  bool yields_row(const ValueRef& value, const EventBytes& bytes);
  bool agrees(const ValueRef& value, const EventBytes& bytes);
  bool tags_readable() const;
  bool leads_on(uint64_t at, uint64_t next);
  void learn_tags(uint64_t at, uint64_t length);

  const File& file_;
  BlockReader& reader_;
  Pool& pool_;
  const PartOptions& options_;
  Part& part_;
  uint32_t session_ = 0;
  Session* now_ = nullptr;
  bool after_fault_ = false;
  size_t open_fault_ = 0;  // the first fault with no event after it yet
  FastScalars scalars_;
  FastBlobs blobs_;
  RecordWalker<PartDecoder> walker_;
  EventRef event_;
  bool unsure_ = false;  // the current large record has a value of unknown kind
};

}  // namespace tbq
