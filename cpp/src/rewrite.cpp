// The rewriter's loop: verified records in batches, copied in long stretches where nothing changes.
#include "tbq/rewrite.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "file_source.hpp"
#include "recovery.hpp"
#include "rewrite_fates.hpp"
#include "tbq/output.hpp"
#include "tbq/record.hpp"

namespace tbq {

const char* rewrite_state_name(RewriteState state) {
  switch (state) {
    case RewriteState::done:
      return "done";
    case RewriteState::cancelled:
      return "cancelled";
    case RewriteState::damaged:
      return "damaged";
    case RewriteState::unreadable:
      return "unreadable";
    case RewriteState::unwritable:
      return "unwritable";
  }
  return "";
}

namespace {

constexpr size_t kBatch = 256;
constexpr size_t kPiece = 64 * 1024;
constexpr uint64_t kWhole = uint64_t{1} << 20;  // a record up to this size is held in memory to be copied
constexpr uint64_t kTick = uint64_t{8} << 20;
constexpr size_t kMostGone = 10000;

class RunRewriter {
 public:
  RunRewriter(const Result& survey, const std::vector<std::string>& paths, uint32_t run,
              const std::vector<SeriesRule>& rules, const RewriteOptions& options)
      : survey_(survey),
        paths_(paths),
        run_(run),
        options_(options),
        fates_(survey, run, rules, options),
        reader_(options.block) {}

  RewriteReport run(const std::string& target) {
    if (options_.max_points > 0 && (!walk(Pass::count) || !walk(Pass::pick))) return report_;
    if (out_.open(target) != 0) return unwritable();
    if (!walk(Pass::write)) return report_;
    if (out_.close() != 0) return unwritable();
    report_.bytes_out = out_.bytes();
    return report_;
  }

 private:
  RewriteReport unwritable() {
    report_.state = RewriteState::unwritable;
    report_.error = out_.error();
    return report_;
  }
  bool stop(RewriteState state, uint64_t at, int error = 0) {
    report_.state = state;
    report_.file = file_index_;
    report_.offset = at;
    report_.error = error;
    return false;
  }
  bool unreadable(uint64_t at) {
    return stop(RewriteState::unreadable, at, reader_.error() != 0 ? reader_.error() : EIO);
  }
  bool emit(const uint8_t* data, size_t size) {
    if (pass_ != Pass::write || out_.write({data, size})) return true;
    unwritable();
    return false;
  }

  // ---- sessions and damage
  // --------------------------------------------------------------------------------------

  // One pass over all sessions of the run; false where it stopped, with the reason in the report.
  bool walk(Pass pass) {
    report_ = {};
    pass_ = pass;
    fates_.begin(pass, report_);
    const auto& all = survey_.sessions;
    const auto first = std::lower_bound(all.begin(), all.end(), run_,
                                        [](const SessionReport& one, uint32_t run) { return one.run < run; });
    auto last = first;
    while (last != all.end() && last->run == run_) ++last;
    // A session ends where the next one of its file begins.
    std::vector<uint32_t> by_place(static_cast<size_t>(last - first));
    std::iota(by_place.begin(), by_place.end(), 0U);
    std::sort(by_place.begin(), by_place.end(), [&](uint32_t a, uint32_t b) {
      return first[a].file != first[b].file ? first[a].file < first[b].file
                                            : first[a].offset < first[b].offset;
    });
    std::vector<uint64_t> ends(by_place.size());
    for (size_t i = 0; i < by_place.size(); ++i) {
      const SessionReport& mine = first[by_place[i]];
      ends[by_place[i]] = i + 1 < by_place.size() && first[by_place[i + 1]].file == mine.file
                              ? first[by_place[i + 1]].offset
                              : survey_.files[mine.file].resume;
    }
    for (auto at = first; at != last; ++at) {
      fates_.enter(static_cast<uint32_t>(at - all.begin()));
      if (!piece(at->file, at->offset, ends[static_cast<size_t>(at - first)])) return false;
    }
    return true;
  }

  bool piece(uint32_t index, uint64_t at, uint64_t end) {
    if (index != file_index_ || !open_) {
      file_index_ = index;
      const int error = file_.open(paths_[index]);
      open_ = error == 0;
      if (!open_) return stop(RewriteState::unreadable, 0, error);
      reader_.reset(&file_, file_.size());
    }
    report_.bytes_in += end - std::min(at, end);
    const std::vector<Fault>& faults = survey_.files[index].faults;
    auto fault = std::lower_bound(faults.begin(), faults.end(), at,
                                  [](const Fault& one, uint64_t offset) { return one.offset < offset; });
    while (at < end) {
      while (fault != faults.end() && (fault->offset < at || kept(*fault))) ++fault;
      if (fault != faults.end() && fault->offset == at) {
        if (!lose(*fault)) return false;
        at += fault->length;
        continue;
      }
      const uint64_t before = at;
      if (!records(at, fault != faults.end() ? std::min(end, fault->offset) : end)) return false;
      if (!tick(at - before, at)) return false;
    }
    return true;
  }

  // A sound record that is no event is a record all the same, until a repair takes it out.
  bool kept(const Fault& fault) const { return fault.code == FaultCode::bad_event && !options_.repair; }

  bool lose(const Fault& fault) {
    if (!options_.repair) return stop(RewriteState::damaged, fault.offset);
    ++report_.gone_places;
    report_.gone_bytes += fault.length;
    if (report_.gone.size() < kMostGone) report_.gone.push_back({file_index_, fault});
    return true;
  }

  // Damage that the survey did not list: in a large record that it skipped, or past the faults it lists.
  bool damage(uint64_t& at, uint64_t limit, FaultCode code, uint64_t behind) {
    Fault fault;
    fault.code = code;
    fault.offset = at;
    uint64_t next = behind;
    if (next == 0) next = recovery_.find_record(at + 1).resume;
    next = std::min(next, limit);
    fault.length = next - at;
    if (!lose(fault)) return false;
    at = next;
    return true;
  }

  bool tick(uint64_t passed, uint64_t at) {
    since_ += passed;
    if (since_ < kTick || !options_.tick) return true;
    const uint64_t bytes = since_;
    since_ = 0;
    return options_.tick(bytes) || stop(RewriteState::cancelled, at);
  }

  // ---- records
  // ----------------------------------------------------------------------------------------------------

  // What lies in the window from `at` on, up to `limit`, and one irregular record behind it.
  bool records(uint64_t& at, uint64_t limit) {
    const uint8_t* data;
    size_t size = reader_.available(at, data);
    if (size == 0) return unreadable(at);
    size = static_cast<size_t>(std::min<uint64_t>(size, limit - at));
    Bytes bytes(data, size);
    Frames frames{};
    do {
      frames = split_records(bytes, frames_, kBatch);
      report_.records_in += frames.count;
      if (fates_.verbatim()) {
        report_.records_out += frames.count;
        if (!emit(bytes.data(), static_cast<size_t>(frames.at - bytes.data()))) return false;
      } else if (!change(bytes.data(), frames.count)) {
        return false;
      }
      bytes = {frames.at, static_cast<size_t>(data + size - frames.at)};
    } while (frames.stop == Stop::full);
    at += static_cast<uint64_t>(frames.at - data);
    switch (frames.stop) {
      case Stop::more:
        return at == limit || more(at, limit);
      case Stop::large:
        return large(at, limit, load_le<uint64_t>(frames.at));
      case Stop::bad_length:
        return damage(at, limit, FaultCode::bad_length, 0);
      case Stop::bad_payload:
        return bad_payload(at, limit, load_le<uint64_t>(frames.at));
      case Stop::full:
        break;
    }
    return true;
  }

  // The window ended inside a record: get all of it, or find that it is not there.
  bool more(uint64_t& at, uint64_t limit) {
    if (limit - at < kHeader) return damage(at, limit, FaultCode::torn, limit);
    const uint8_t* header = reader_.view(at, kHeader);
    if (!header) return unreadable(at);
    uint64_t length;
    if (!read_header(header, length)) return damage(at, limit, FaultCode::bad_length, 0);
    if (limit - at < kOverhead || length > limit - at - kOverhead)
      return damage(at, limit, FaultCode::torn, 0);
    if (reader_.view(at, static_cast<size_t>(length + kOverhead))) return true;
    return unreadable(at);
  }

  // A whole record with a bad payload is lost alone where another, or the end, follows it.
  bool bad_payload(uint64_t& at, uint64_t limit, uint64_t length) {
    const uint64_t next = at + kOverhead + length;
    const uint64_t resume = recovery_.behind(at, next);
    return damage(at, limit, FaultCode::bad_payload, resume == 0 && next == limit ? next : resume);
  }

  bool large(uint64_t& at, uint64_t limit, uint64_t length) {
    if (limit - at < kOverhead || length > limit - at - kOverhead)
      return damage(at, limit, FaultCode::torn, 0);
    const uint64_t next = at + kOverhead + length;
    FileSource source(reader_, at + kHeader, length);
    const size_t unread = fates_.verbatim() ? 0 : fates_.dropped_unread(source);
    if (unread > 0 && recovery_.followed(next)) {
      ++report_.records_in;
      report_.dropped_rule += unread;
      at = next;
      return true;
    }
    if (length <= kWhole) reader_.view(at, static_cast<size_t>(length + kOverhead));
    if (!recovery_.agrees(at, length)) {
      if (reader_.error() != 0) return stop(RewriteState::unreadable, at, reader_.error());
      return bad_payload(at, limit, length);
    }
    ++report_.records_in;
    if (fates_.verbatim() || length >= kLargestEvent) {
      ++report_.records_out;
      if (!copy(at, next)) return false;
    } else {
      const uint8_t* record = reader_.view(at, static_cast<size_t>(length + kOverhead));
      if (!record) return unreadable(at);
      frames_[0] = {record + kHeader, static_cast<size_t>(length)};
      if (!change(record, 1)) return false;
    }
    at = next;
    return true;
  }

  bool copy(uint64_t at, uint64_t end) {
    while (at < end) {
      const auto piece = static_cast<size_t>(std::min<uint64_t>(end - at, kPiece));
      const uint8_t* data = reader_.view(at, piece);
      if (!data) return unreadable(at);
      if (!emit(data, piece)) return false;
      at += piece;
    }
    return true;
  }

  // ---- what happens to a record
  // -------------------------------------------------------------------------------------

  // Copies or changes the `count` records in frames_, the first of which starts at `begin`.
  bool change(const uint8_t* begin, size_t count) {
    const uint8_t* from = begin;  // what is to be copied starts here
    for (size_t i = 0; i < count; ++i) {
      const Frame& frame = frames_[i];
      const Fate fate = fates_.of({frame.payload, frame.length});
      report_.records_out += fate != Fate::drop;
      if (fate == Fate::keep) continue;
      const uint8_t* start = frame.payload - kHeader;
      if (start > from && !emit(from, static_cast<size_t>(start - from))) return false;
      from = frame.payload + frame.length + 4;
      if (fate == Fate::drop || pass_ != Pass::write) continue;
      ++report_.changed;
      record_.clear();
      append_record(record_, fates_.edited());
      if (!emit(reinterpret_cast<const uint8_t*>(record_.data()), record_.size())) return false;
    }
    if (count == 0) return true;
    const uint8_t* end = frames_[count - 1].payload + frames_[count - 1].length + 4;
    return end == from || emit(from, static_cast<size_t>(end - from));
  }

  const Result& survey_;
  const std::vector<std::string>& paths_;
  const uint32_t run_;
  const RewriteOptions& options_;
  Fates fates_;
  BlockReader reader_;
  Recovery recovery_{reader_};
  File file_;
  Output out_;
  RewriteReport report_;
  Pass pass_ = Pass::write;
  bool open_ = false;
  uint32_t file_index_ = 0;
  uint64_t since_ = 0;
  std::string record_;
  Frame frames_[kBatch];
};

}  // namespace

RewriteReport rewrite_run(const Result& survey, const std::vector<std::string>& paths, uint32_t run,
                          const std::vector<SeriesRule>& rules, const RewriteOptions& options,
                          const std::string& target) {
  return RunRewriter(survey, paths, run, rules, options).run(target);
}

}  // namespace tbq
