// Walks over the records of a file: verified, in order, past damage. Reading and rewriting share this walk.
#pragma once

#include <algorithm>
#include <cstdint>

#include "record/fault.hpp"
#include "record/framing.hpp"
#include "record/recovery.hpp"

namespace tbq {

// What to do with a record longer than kLargeRecord.
enum class Large : uint8_t {
  pass,   // skip it unverified
  place,  // verify it; its position is enough
  bytes,  // verify it and hold it in memory
};

// The walker calls the Visitor for each record and each fault. If a function with a bool result returns
// false, the walk ends.
//
//   bool records(const Frame* frames, size_t count, uint64_t at)
//       verified records, consecutive in memory; `at` is the file offset of the first
//   Large large(uint64_t at, uint64_t length)
//       a complete large record, not yet verified: returns what to do with it
//   bool large_record(uint64_t at, uint64_t length, Bytes payload)
//       the same record, verified; `payload` is empty for Large::place
//   void refused(uint64_t at, uint64_t length)
//       the same record, if its data do not match its checksum; lost() follows
//   bool lost(FaultCode code, uint64_t at, uint64_t length)
//       bytes that do not contain records
//   void passed(uint64_t bytes)
//       progress
template <class Visitor>
class RecordWalker {
 public:
  RecordWalker(BlockReader& reader, Visitor& visitor, const StopFlag* stop = nullptr)
      : reader_(reader), visitor_(visitor), stop_(stop), recovery_(reader, stop) {}

  // Walks over the records that start in [begin, limit); a record must start at `begin`.
  void walk(uint64_t begin, uint64_t limit) {
    at_ = begin;
    limit_ = limit;
    ended_ = unsettled_ = false;
    unfinished_ = 0;
    while (!ended_ && at_ < std::min(limit_, reader_.end()) && !cancelled()) {
      const uint64_t before = at_;
      batch();
      visitor_.passed(at_ - before);
    }
    at_ = std::min(at_, reader_.end());
    if (!unsettled_) settled_ = at_;
  }

  // Where the next walk resumes: after the last record, or after lost bytes.
  uint64_t stopped() const { return at_ - unfinished_; }
  // The bytes of an incomplete record at the end of the file.
  uint64_t unfinished() const { return unfinished_; }
  // Bytes appended to the file cannot change what was seen before this offset.
  uint64_t settled() const { return settled_; }
  Recovery& recovery() { return recovery_; }

 private:
  static constexpr size_t kBatch = 256;
  static constexpr uint64_t kHeld = uint64_t{1} << 20;  // records up to this size are read in one piece

  bool cancelled() const { return stop_ && stop_->is_set(); }

  // Handles the records in the window from at_ on, and one irregular record after them.
  void batch() {
    const uint8_t* data;
    const size_t size = reader_.available(at_, data);
    if (size == 0) {
      at_ = reader_.end();
      return;
    }
    const uint8_t* const limit = data + std::min<uint64_t>(size, limit_ - at_);
    const uint64_t base = at_;
    const auto offset = [&](const uint8_t* place) { return base + static_cast<uint64_t>(place - data); };
    Bytes bytes(data, size);
    Frames frames{};
    do {
      frames = split_records(bytes, frames_, kBatch);
      size_t count = frames.count;
      while (count > 0 && frames_[count - 1].payload - kHeader >= limit) --count;
      if (count > 0) ended_ = !visitor_.records(frames_, count, offset(frames_[0].payload - kHeader));
      at_ = offset(count < frames.count ? frames_[count].payload - kHeader : frames.at);
      if (ended_ || at_ >= limit_) return;
      bytes = {frames.at, static_cast<size_t>(data + size - frames.at)};
    } while (frames.stop == Stop::full);
    switch (frames.stop) {
      case Stop::more:
        return more();
      case Stop::large:
        return large(load_le<uint64_t>(frames.at));
      case Stop::bad_length:
        return lose(damage_of_header(frames.at));
      case Stop::bad_payload:
        return lose_record(FaultCode::bad_payload, load_le<uint64_t>(frames.at));
      case Stop::full:
        break;
    }
  }

  // The window ended inside a record: read all of it, or find out that it is incomplete.
  void more() {
    const uint64_t left = reader_.end() - at_;
    if (left < kHeader) return tail();
    const uint8_t* header = reader_.view(at_, kHeader);
    if (!header) return;  // the file has shrunk: check again
    uint64_t length;
    if (!read_header(header, length)) return;  // the next batch reports it
    if (length > kLargeRecord) return large(length);
    if (left < kOverhead || length > left - kOverhead) return tail();
    reader_.view(at_, static_cast<size_t>(length + kOverhead));
  }

  void large(uint64_t length) {
    const uint64_t left = reader_.end() - at_;
    if (left < kOverhead || length > left - kOverhead) return tail();
    if (length >= kLargestEvent) return lose_record(FaultCode::too_long, length);
    const uint64_t next = at_ + kOverhead + length;
    const Large what = visitor_.large(at_, length);
    if (what == Large::pass) {
      at_ = next;
      return;
    }
    if (length <= kHeld) reader_.view(at_, static_cast<size_t>(length + kOverhead));
    if (!recovery_.agrees(at_, length)) {
      if (cancelled()) return;
      visitor_.refused(at_, length);
      return lose_record(FaultCode::bad_payload, length);
    }
    Bytes payload;
    if (what == Large::bytes) {
      const uint8_t* data = reader_.view(at_ + kHeader, static_cast<size_t>(length));
      if (!data) return;  // the file has shrunk: check again
      payload = {data, static_cast<size_t>(length)};
    }
    ended_ = !visitor_.large_record(at_, length, payload);
    at_ = next;
  }

  // ---- damage

  static FaultCode damage_of_header(const uint8_t* header) {
    return std::all_of(header, header + kHeader, [](uint8_t byte) { return byte == 0; })
               ? FaultCode::zeros
               : FaultCode::bad_length;
  }

  // A complete but bad record is lost alone if a record follows; otherwise search for the next one.
  void lose_record(FaultCode code, uint64_t length) {
    const uint64_t next = at_ + kOverhead + length;
    if (reader_.end() - next < kHeader) unsettle();
    const uint64_t resume = recovery_.behind(at_, next);
    if (resume == 0) return lose(code);
    lose(code, resume);
  }

  void lose(FaultCode code) {
    const Recovery::Found recovered = recovery_.find_record(at_ + 1);
    if (!recovered.settled) unsettle();
    lose(code, recovered.resume);
  }

  void lose(FaultCode code, uint64_t resume) {
    ended_ = !visitor_.lost(code, at_, resume - at_);
    at_ = resume;
  }

  // Incomplete record: the file is still being written, unless records follow.
  void tail() {
    unsettle();
    const Recovery::Found recovered = recovery_.find_record(at_ + 1);
    if (recovered.record) return lose(FaultCode::torn, recovered.resume);
    unfinished_ = reader_.end() - at_;
    at_ = reader_.end();
  }

  // Appended bytes may change how the bytes from here on are understood.
  void unsettle() {
    if (!unsettled_) settled_ = at_;
    unsettled_ = true;
  }

  BlockReader& reader_;
  Visitor& visitor_;
  const StopFlag* stop_;
  Recovery recovery_;
  uint64_t at_ = 0;
  uint64_t limit_ = 0;
  uint64_t unfinished_ = 0;
  uint64_t settled_ = 0;
  bool unsettled_ = false;
  bool ended_ = false;
  Frame frames_[kBatch];
};

}  // namespace tbq
