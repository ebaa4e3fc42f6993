// The walk over the records of a file: verified, in order, past damage. Reading and rewriting share it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "record/fault.hpp"
#include "record/framing.hpp"
#include "record/recovery.hpp"

namespace tbq {

// What becomes of a record over kLargeRecord.
enum class Large : uint8_t {
  pass,   // it is passed over unverified
  place,  // it is verified; where it lies is enough
  bytes,  // it is verified and held in memory
};

// A Visitor sees what the walk comes by. Functions that return bool end the walk with false.
//
//   bool records(const Frame* frames, size_t count, uint64_t at)
//       verified records that lie one after the other in memory; `at` is the file offset of the first
//   Large large(uint64_t at, uint64_t length)
//       a large record that is all there, not yet verified: what shall become of it?
//   bool large_record(uint64_t at, uint64_t length, Bytes payload)
//       the same, verified; `payload` is empty for Large::place
//   void refused(uint64_t at, uint64_t length)
//       the same, when its data did not agree with its checksum; lost() follows
//   bool lost(FaultCode code, uint64_t at, uint64_t length)
//       bytes that do not hold records
//   void passed(uint64_t bytes)
//       progress
template <class Visitor>
class RecordWalker {
 public:
  RecordWalker(BlockReader& reader, Visitor& visitor, const StopFlag* stop = nullptr)
      : reader_(reader), visitor_(visitor), stop_(stop), recovery_(reader, stop) {}

  // Walks over the records that start in [begin, limit); one must start at `begin`.
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

  // Where the next walk goes on: after the last record, or lost bytes.
  uint64_t stopped() const { return at_ - unfinished_; }
  // Bytes of a record at the end of the file that are not all there.
  uint64_t unfinished() const { return unfinished_; }
  // Up to here nothing that may yet be appended to the file can change what was seen.
  uint64_t settled() const { return settled_; }
  Recovery& recovery() { return recovery_; }

 private:
  static constexpr size_t kBatch = 256;
  static constexpr uint64_t kHeld = uint64_t{1} << 20;  // a record up to this size is read in one piece

  bool cancelled() const { return stop_ && stop_->is_set(); }

  // What lies in the window from at_ on, and one irregular record after it.
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

  // The window ended inside a record: get all of it, or find that it is not there.
  void more() {
    const uint64_t left = reader_.end() - at_;
    if (left < kHeader) return tail();
    const uint8_t* header = reader_.view(at_, kHeader);
    if (!header) return;  // it has shrunk: look again
    uint64_t length;
    if (!read_header(header, length)) return;  // the next batch says so
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
      if (!data) return;  // it has shrunk: look again
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

  // A record that is all there is lost alone if a record follows; otherwise the search for one decides.
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

  // What starts here is not all there: the file is still being written, unless records come after it.
  void tail() {
    unsettle();
    const Recovery::Found recovered = recovery_.find_record(at_ + 1);
    if (recovered.record) return lose(FaultCode::torn, recovered.resume);
    unfinished_ = reader_.end() - at_;
    at_ = reader_.end();
  }

  // What is appended to the file later may change what is made of the bytes from here on.
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
