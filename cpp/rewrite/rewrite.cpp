// The rewriter's loop: verified records in batches, copied in long stretches if nothing changes.
#include "rewrite/rewrite.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <utility>

#include "event/edit.hpp"
#include "event/event.hpp"
#include "io/output.hpp"
#include "record/framing.hpp"
#include "record/walker.hpp"
#include "rewrite/decisions.hpp"

namespace tbq {

const char* rewrite_state_name(RewriteState state) {
  static constexpr const char* names[] = {"done", "cancelled", "damaged", "unreadable", "unwritable"};
  return names[static_cast<size_t>(state)];
}

namespace {

constexpr size_t kPiece = 64 * 1024;
constexpr uint64_t kTick = uint64_t{8} << 20;
constexpr size_t kMostLost = 10000;

class RunRewriter {
 public:
  RunRewriter(const Result& survey, const std::vector<std::string>& paths, uint32_t run,
              const std::vector<SeriesRule>& rules, const RewriteOptions& options)
      : survey_(survey),
        paths_(paths),
        run_(run),
        options_(options),
        decisions_(survey, run, rules, options),
        reader_(options.block) {}

  RewriteReport run(const std::string& target) {
    if (options_.tick) stop_.poll_by([this] { poll(); });
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

  // Makes one pass over all sessions of the run. Returns false if it stopped; the report has the reason.
  bool walk(Pass pass) {
    report_ = {};
    pass_ = pass;
    decisions_.begin(pass, report_);
    const auto& all = survey_.sessions;
    const auto first =
        std::lower_bound(all.begin(), all.end(), run_,
                         [](const SessionReport& session, uint32_t run) { return session.run < run; });
    auto last = first;
    while (last != all.end() && last->run == run_) ++last;
    // A session ends where the next session of its file begins.
    std::vector<uint32_t> by_place(static_cast<size_t>(last - first));
    std::iota(by_place.begin(), by_place.end(), 0U);
    std::sort(by_place.begin(), by_place.end(), [&](uint32_t a, uint32_t b) {
      return first[a].file != first[b].file ? first[a].file < first[b].file
                                            : first[a].offset < first[b].offset;
    });
    std::vector<uint64_t> ends(by_place.size());
    for (size_t i = 0; i < by_place.size(); ++i) {
      const SessionReport& session = first[by_place[i]];
      ends[by_place[i]] = i + 1 < by_place.size() && first[by_place[i + 1]].file == session.file
                              ? first[by_place[i + 1]].offset
                              : survey_.files[session.file].resume;
    }
    marking_ = last - first > 1 && !decisions_.verbatim();
    for (auto at = first; at != last; ++at) {
      left_ = {};
      has_first_event_ = false;
      began_ = at->times.start();
      decisions_.enter(static_cast<uint32_t>(at - all.begin()));
      if (needs_header(*at, at == first) && !add_header(at->times.begin)) return false;
      if (!piece(at->file, at->offset, ends[static_cast<size_t>(at - first)])) return false;
      if (marking_ && at->times.known && !(left_.known && left_.end >= at->times.end) &&
          !add_mark(at->times.end)) {
        return false;
      }
    }
    return true;
  }

  // Whether the file_version of a session was lost, or the session would merge into the one before it.
  bool needs_header(const SessionReport& session, bool is_first) const {
    if (session.headed || session.records == 0) return false;
    const std::vector<Fault>& faults = survey_.files[session.file].faults;
    return !is_first || std::any_of(faults.begin(), faults.end(),
                                    [&](const Fault& fault) { return fault.offset == session.offset; });
  }
  bool add_header(double wall_time) {
    std::string payload;
    append_file_version(payload, wall_time);
    record_.clear();
    append_record(record_, {reinterpret_cast<const uint8_t*>(payload.data()), payload.size()});
    ++report_.records_out;
    ++report_.headers;
    left_.add(wall_time);
    return emit(reinterpret_cast<const uint8_t*>(record_.data()), record_.size());
  }

  // ---- times of sessions: always kept, because they distinguish a restart from concurrent writers

  // Writes an event that has only this time.
  bool add_mark(double wall_time) {
    std::string payload;
    append_wall_time(payload, wall_time);
    record_.clear();
    append_record(record_, {reinterpret_cast<const uint8_t*>(payload.data()), payload.size()});
    ++report_.records_out;
    ++report_.marks;
    left_.add(wall_time);
    return emit(reinterpret_cast<const uint8_t*>(record_.data()), record_.size());
  }
  // Keeps the time of the last event, if the event begins its session and is dropped.
  bool note_time(bool dropped) {
    if (!marking_) return true;
    TimeSpan time;
    time.add(decisions_.wall_time());
    const bool first_event = !has_first_event_ && !decisions_.was_header();
    has_first_event_ = has_first_event_ || first_event;
    if (dropped) {
      // After a header, the first event matters only if the session has events older than the header.
      const bool matters = !left_.known || (first_event && began_ < left_.begin);
      return !matters || !time.known || add_mark(time.begin);
    }
    left_.merge(time);
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
    walker_.walk(at, end);
    if (report_.state != RewriteState::done) return false;
    if (walker_.stopped() < end) return unreadable(walker_.stopped());
    return true;
  }

 public:
  // ---- called by the walker

  bool records(const Frame* frames, size_t count, uint64_t at) {
    if (decisions_.verbatim() && !any_bad_event(at, frames, count)) {
      report_.records_in += count;
      report_.records_out += count;
      const uint8_t* begin = frames[0].payload - kHeader;
      const uint8_t* end = frames[count - 1].payload + frames[count - 1].length + 4;
      return emit(begin, static_cast<size_t>(end - begin));
    }
    return change(frames, count, at);
  }

  Large large(uint64_t at, uint64_t length) {
    FileSource source(reader_, at + kHeader, length);
    const size_t unread = decisions_.verbatim() ? 0 : decisions_.dropped_unread(source);
    // Verified although it is dropped: if its length is damaged, valid records may lie in between.
    if (unread > 0 && walker_.recovery().agrees(at, length)) {
      ++report_.records_in;
      report_.dropped_rule += unread;
      note_time(true);
      return Large::pass;
    }
    return decisions_.verbatim() ? Large::place : Large::bytes;
  }

  bool large_record(uint64_t at, uint64_t length, Bytes payload) {
    if (!payload.empty()) {
      const Frame frame{payload.data(), payload.size()};
      return change(&frame, 1, at);
    }
    if (bad_event(at, FileSource(reader_, at + kHeader, length))) return lose_event(at, length);
    ++report_.records_in;
    ++report_.records_out;
    return copy(at, at + kOverhead + length);
  }

  void refused(uint64_t /*at*/, uint64_t /*length*/) {}

  bool lost(FaultCode code, uint64_t at, uint64_t length) {
    Fault fault;
    fault.code = code;
    fault.offset = at;
    fault.length = length;
    if (reader_.error() != 0) return unreadable(at);
    if (!options_.repair) return stop(RewriteState::damaged, at);
    ++report_.lost_places;
    report_.lost_bytes += length;
    if (report_.lost.size() < kMostLost) report_.lost.push_back({file_index_, fault});
    return true;
  }

  void passed(uint64_t bytes) {
    since_ += bytes;
    if (since_ >= kTick) poll();
  }

  // Reports the bytes processed and checks whether to continue, also while the walk searches past damage.
  void poll() {
    if (!options_.tick || report_.state != RewriteState::done) return;
    if (!options_.tick(std::exchange(since_, 0))) {
      stop(RewriteState::cancelled, 0);
      stop_.set();
    }
  }

 private:
  // A valid record that does not contain an event is copied, unless a repair removes it. The survey lists
  // such records, unless there are very many: then each event is walked.
  bool bad_events_listed() const {
    return survey_.files[file_index_].listed.is_complete(FaultCode::bad_event);
  }
  template <class Source>
  bool bad_event(uint64_t at, Source source) {
    if (!options_.repair) return false;
    if (!bad_events_listed()) {
      walked_.clear();
      return !walk_event(source, walked_);
    }
    const std::vector<Fault>& faults = survey_.files[file_index_].faults;
    const auto found =
        std::lower_bound(faults.begin(), faults.end(), at,
                         [](const Fault& fault, uint64_t offset) { return fault.offset < offset; });
    return found != faults.end() && found->offset == at && found->code == FaultCode::bad_event;
  }
  // Whether one of these records may be such a record.
  bool any_bad_event(uint64_t at, const Frame* frames, size_t count) const {
    if (!options_.repair) return false;
    if (!bad_events_listed()) return true;
    const std::vector<Fault>& faults = survey_.files[file_index_].faults;
    const uint64_t end = at + static_cast<uint64_t>(frames[count - 1].payload - frames[0].payload);
    return std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
      return fault.code == FaultCode::bad_event && fault.offset >= at && fault.offset <= end;
    });
  }
  bool lose_event(uint64_t at, uint64_t length) { return lost(FaultCode::bad_event, at, length + kOverhead); }

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

  // ---- changes to records

  // Copies or changes consecutive records; the first is at offset `at` of the file.
  bool change(const Frame* frames, size_t count, uint64_t at) {
    const uint8_t* from = frames[0].payload - kHeader;  // the bytes to copy start here
    for (size_t i = 0; i < count; ++i) {
      const Frame& frame = frames[i];
      const uint64_t place = at + static_cast<uint64_t>(frame.payload - frames[0].payload);
      const bool bad = bad_event(place, MemorySource({frame.payload, frame.length}));
      const Decision decision = bad                     ? Decision::drop
                                : decisions_.verbatim() ? Decision::keep
                                                        : decisions_.of({frame.payload, frame.length});
      report_.records_in += !bad;  // a record removed by a repair is lost, not dropped
      report_.records_out += decision != Decision::drop;
      if (bad && !lose_event(place, frame.length)) return false;
      if (decision == Decision::keep) {
        if (!note_time(false)) return false;
        continue;
      }
      const uint8_t* start = frame.payload - kHeader;
      if (start > from && !emit(from, static_cast<size_t>(start - from))) return false;
      from = frame.payload + frame.length + 4;
      if (!bad && !note_time(decision == Decision::drop)) return false;
      if (decision == Decision::drop || pass_ != Pass::write) continue;
      ++report_.changed;
      record_.clear();
      append_record(record_, decisions_.edited());
      if (!emit(reinterpret_cast<const uint8_t*>(record_.data()), record_.size())) return false;
    }
    const uint8_t* end = frames[count - 1].payload + frames[count - 1].length + 4;
    return end == from || emit(from, static_cast<size_t>(end - from));
  }

  const Result& survey_;
  const std::vector<std::string>& paths_;
  const uint32_t run_;
  const RewriteOptions& options_;
  Decisions decisions_;
  BlockReader reader_;
  StopFlag stop_;
  RecordWalker<RunRewriter> walker_{reader_, *this, &stop_};
  File file_;
  Output out_;
  RewriteReport report_;
  Pass pass_ = Pass::write;
  bool open_ = false;
  uint32_t file_index_ = 0;
  bool marking_ = false;
  EventRef walked_;
  TimeSpan left_;                 // the times of the current session in the new file
  bool has_first_event_ = false;  // whether the session's first event was seen
  double began_ = 0;              // the session's earliest time
  uint64_t since_ = 0;
  std::string record_;
};

}  // namespace

RewriteReport rewrite_run(const Result& survey, const std::vector<std::string>& paths, uint32_t run,
                          const std::vector<SeriesRule>& rules, const RewriteOptions& options,
                          const std::string& target) {
  return RunRewriter(survey, paths, run, rules, options).run(target);
}

}  // namespace tbq
