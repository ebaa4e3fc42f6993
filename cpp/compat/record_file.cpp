// Continues reading a file: starts the walk over records where the last one ended.
#include "compat/record_file.hpp"

#include <algorithm>

#include "io/input.hpp"
#include "record/walker.hpp"

namespace tbq {

struct RecordFile::Visitor {
  RecordFile& file;
  const std::function<bool(Bytes, uint64_t)>& take;
  uint64_t returned = 0;  // the end of the last record that was returned

  bool records(const Frame* frames, size_t count, uint64_t at) {
    for (size_t i = 0; i < count; ++i) {
      const uint64_t begin = at;
      at += kOverhead + frames[i].length;
      returned = at;
      if (!take({frames[i].payload, frames[i].length}, begin)) return stop();
    }
    return true;
  }
  Large large(uint64_t, uint64_t) { return Large::bytes; }
  bool large_record(uint64_t at, uint64_t length, Bytes payload) {
    returned = at + kOverhead + length;
    return take(payload, at) || stop();
  }
  void refused(uint64_t, uint64_t) {}
  bool lost(FaultCode code, uint64_t at, uint64_t length) {
    if (at < file.reported_) return true;
    file.reported_ = at + 1;
    if (file.faults_.size() == kMostFaults) {
      ++file.more_faults_;
      return true;
    }
    Fault fault;
    fault.code = code;
    fault.offset = at;
    fault.length = length;
    file.faults_.push_back(fault);
    return true;
  }
  void passed(uint64_t) {}
  bool stop() {
    file.stopped_ = true;
    return false;
  }
};

int RecordFile::read(const std::function<bool(Bytes, uint64_t)>& take) {
  const std::lock_guard turn(mutex_);
  File file;
  if (const int error = file.open(path_)) return error;
  if (known_ && !status_.is_same_file(file.status())) return 0;
  const bool unchanged = known_ && !stopped_ && file.size() == read_size_;
  status_ = file.status();
  known_ = true;
  if (unchanged || file.size() <= offset_) return 0;
  stopped_ = false;
  BlockReader reader;
  reader.reset(&file, file.size());
  Visitor visitor{*this, take};
  RecordWalker<Visitor> walker(reader, visitor);
  walker.walk(offset_, UINT64_MAX);
  offset_ = stopped_ ? visitor.returned : std::max({offset_, visitor.returned, walker.settled()});
  unfinished_ = stopped_ ? 0 : walker.unfinished();
  read_size_ = reader.end();
  return reader.error();
}

}  // namespace tbq
