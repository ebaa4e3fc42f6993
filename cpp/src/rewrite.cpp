// The rewriter's loop: verified records in batches, copied in long stretches where nothing changes.
#include "tbq/rewrite.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "file_source.hpp"
#include "rewrite_series.hpp"
#include "tbq/crc32c.hpp"
#include "tbq/edit.hpp"
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
constexpr uint64_t kLargestEvent = uint64_t{1} << 31;  // protobuf's own limit
constexpr uint64_t kWhole = uint64_t{1} << 20;  // a record up to this size is held in memory to be copied
constexpr uint64_t kTick = uint64_t{8} << 20;
constexpr size_t kMostGone = 10000;

enum class Fate { keep, drop, edit };

class RunRewriter {
 public:
  RunRewriter(const Result& survey, const std::vector<std::string>& paths, uint32_t run,
              const std::vector<SeriesRule>& rules, const RewriteOptions& options)
      : survey_(survey),
        paths_(paths),
        run_(run),
        options_(options),
        states_(survey, run, rules),
        reader_(options.block) {
    partial_ = options_.first_step != INT64_MIN || options_.last_step != INT64_MAX || options_.every > 1 ||
               options_.max_points > 0 || options_.resume;
    verbatim_ = states_.untouched() && !partial_ && options_.offset == 0;
  }

  RewriteReport run(const std::string& target) {
    if (options_.max_points > 0) {
      pass_ = Pass::count;
      if (!walk()) return report_;
      states_.each([&](SeriesState& one) {
        one.picks.prepare(options_.max_points, one.report->kind == Kind::scalars);
      });
      pass_ = Pass::pick;
      if (!walk()) return report_;
      states_.each([](SeriesState& one) { one.picks.finish(); });
      pass_ = Pass::write;
    }
    if (out_.open(target) != 0) return unwritable();
    if (!walk()) return report_;
    if (out_.close() != 0) return unwritable();
    report_.bytes_out = out_.bytes();
    return report_;
  }

 private:
  enum class Pass { count, pick, write };

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
  bool emit(const uint8_t* data, size_t size) {
    if (pass_ != Pass::write || out_.write({data, size})) return true;
    unwritable();
    return false;
  }

  // ---- sessions and damage
  // --------------------------------------------------------------------------------------

  // One pass over all sessions of the run; false where it stopped, with the reason in the report.
  bool walk() {
    report_ = {};
    states_.rewind();
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
      session_ = static_cast<uint32_t>(at - all.begin());
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
    if (next == 0) next = next_record(file_, reader_, at + 1);
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
    if (size == 0) return stop(RewriteState::unreadable, at, reader_.error() != 0 ? reader_.error() : EIO);
    size = static_cast<size_t>(std::min<uint64_t>(size, limit - at));
    Bytes bytes(data, size);
    Frames frames{};
    do {
      frames = split_records(bytes, frames_, kBatch);
      report_.records_in += frames.count;
      if (verbatim_) {
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
    if (!header) return stop(RewriteState::unreadable, at, reader_.error() != 0 ? reader_.error() : EIO);
    uint64_t length;
    if (!read_header(header, length)) return damage(at, limit, FaultCode::bad_length, 0);
    if (limit - at < kOverhead || length > limit - at - kOverhead)
      return damage(at, limit, FaultCode::torn, 0);
    if (reader_.view(at, static_cast<size_t>(length + kOverhead))) return true;
    return stop(RewriteState::unreadable, at, reader_.error() != 0 ? reader_.error() : EIO);
  }

  // A whole record with a bad payload is lost alone where another, or the end, follows it.
  bool bad_payload(uint64_t& at, uint64_t limit, uint64_t length) {
    const uint64_t next = at + kOverhead + length;
    uint64_t unused;
    const uint8_t* header = next < reader_.end() ? reader_.view(next, kHeader) : nullptr;
    const bool followed = next == limit || (header && read_header(header, unused));
    return damage(at, limit, FaultCode::bad_payload, followed ? next : 0);
  }

  bool large(uint64_t& at, uint64_t limit, uint64_t length) {
    if (limit - at < kOverhead || length > limit - at - kOverhead)
      return damage(at, limit, FaultCode::torn, 0);
    const uint64_t next = at + kOverhead + length;
    if (!verbatim_ && dropped_unread(at, length)) {
      ++report_.records_in;
      at = next;
      return true;
    }
    if (!agrees(at, length)) {
      if (reader_.error() != 0) return stop(RewriteState::unreadable, at, reader_.error());
      return bad_payload(at, limit, length);
    }
    ++report_.records_in;
    if (verbatim_ || length >= kLargestEvent) {
      ++report_.records_out;
      if (!copy(at, next)) return false;
    } else {
      const uint8_t* record = reader_.view(at, static_cast<size_t>(length + kOverhead));
      if (!record) return stop(RewriteState::unreadable, at, reader_.error() != 0 ? reader_.error() : EIO);
      frames_[0] = {record + kHeader, static_cast<size_t>(length)};
      if (!change(record, 1)) return false;
    }
    at = next;
    return true;
  }

  bool agrees(uint64_t at, uint64_t length) {
    if (length <= kWhole) reader_.view(at, static_cast<size_t>(length + kOverhead));
    uint32_t crc = 0;
    uint64_t offset = at + kHeader;
    for (uint64_t left = length; left > 0;) {
      const auto piece = static_cast<size_t>(std::min<uint64_t>(left, kPiece));
      const uint8_t* data = reader_.view(offset, piece);
      if (!data) return false;
      crc = crc32c(crc, data, piece);
      offset += piece;
      left -= piece;
    }
    const uint8_t* masked = reader_.view(offset, 4);
    return masked && crc_mask(crc) == load_le<uint32_t>(masked);
  }

  bool copy(uint64_t at, uint64_t end) {
    while (at < end) {
      const auto piece = static_cast<size_t>(std::min<uint64_t>(end - at, kPiece));
      const uint8_t* data = reader_.view(at, piece);
      if (!data) return stop(RewriteState::unreadable, at, reader_.error() != 0 ? reader_.error() : EIO);
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
      const Fate fate = fate_of({frame.payload, frame.length});
      report_.records_out += fate != Fate::drop;
      if (fate == Fate::keep) continue;
      const uint8_t* start = frame.payload - kHeader;
      if (start > from && !emit(from, static_cast<size_t>(start - from))) return false;
      from = frame.payload + frame.length + 4;
      if (fate == Fate::drop || pass_ != Pass::write) continue;
      ++report_.changed;
      record_.clear();
      append_record(record_, {reinterpret_cast<const uint8_t*>(event_bytes_.data()), event_bytes_.size()});
      if (!emit(reinterpret_cast<const uint8_t*>(record_.data()), record_.size())) return false;
    }
    if (count == 0) return true;
    const uint8_t* end = frames_[count - 1].payload + frames_[count - 1].length + 4;
    return end == from || emit(from, static_cast<size_t>(end - from));
  }

  Fate fate_of(Bytes payload) {
    Fate fate;
    if (pass_ == Pass::write && plain(payload, fate)) return fate;
    event_.clear();
    MemorySource source(payload);
    if (!walk_event(source, event_)) return Fate::keep;
    return fate_of_event(payload);
  }

  // An event of a time, perhaps a step, and one value that begins with its tag: decided by these alone, where
  // that is enough. False where it is not.
  bool plain(Bytes payload, Fate& fate) {
    if (options_.offset != 0) return false;
    const uint8_t* p = payload.data();
    const uint8_t* const end = p + payload.size();
    if (payload.size() < 24 || p[0] != 0x09) return false;
    Cursor cursor(payload.subspan(9));
    uint64_t step = 0;
    if (*cursor.position() == 0x10) {
      Field field;
      if (!cursor.field(field)) return false;
      step = field.value;
    }
    for (const uint8_t key : {uint8_t{0x2a}, uint8_t{0x0a}}) {
      uint64_t length;
      Bytes one;
      if (cursor.empty() || *cursor.position() != key || !cursor.take(1, one) || !cursor.varint(length) ||
          length != cursor.left()) {
        return false;
      }
    }
    Field tag;
    if (!cursor.field(tag) || !tag.is(1, Wire::bytes)) return false;
    TagStates* found = follow(as_text(tag.bytes));
    if (!found || found->all.size() != 1) return false;
    SeriesState& state = *found->all.front();
    if (state.rule->renamed && !state.rule->drop) return false;
    if (partial_) {
      const uint8_t* rest = cursor.position();
      if (end - rest != 5 || *rest != 0x15 || (state.metadata_lost && !state.metadata_kept)) return false;
    } else {
      Field field;  // another tag behind this one would win
      while (!cursor.empty()) {
        if (!cursor.field(field) || field.number == 1) return false;
      }
    }
    fate = wanted(state, static_cast<int64_t>(step)) ? Fate::keep : Fate::drop;
    return true;
  }

  TagStates* follow(std::string_view tag) {
    TagStates* found = last_ && last_->next && last_->next->name() == tag ? last_->next : states_.find(tag);
    if (last_) last_->next = found;
    last_ = found;
    return found;
  }

  Fate fate_of_event(Bytes payload) {
    edits_.clear();
    bool any = false;
    bool moves = false;
    for (const ValueRef& value : event_.values) {
      ValueEdit edit;
      if (SeriesState* state = state_of(value, payload)) {
        const Kind kind = state->report->kind;
        moves = moves || !stepless(kind) || kind == Kind::logs;
        if (!wanted(*state, event_.step, &value, payload)) {
          edit.drop = true;
          state->metadata_lost = state->metadata_lost || value.has_metadata;
        } else {
          if (state->rule->renamed && tagged(value.form)) edit.tag = &state->rule->tag;
          if (value.has_metadata) {
            state->metadata_kept = true;
          } else if (state->metadata_lost && !state->metadata_kept && tagged(value.form)) {
            const std::string& metadata = state->report->metadata_bytes;
            edit.metadata = {reinterpret_cast<const uint8_t*>(metadata.data()), metadata.size()};
            state->metadata_kept = true;
          }
        }
      }
      any = any || edit.any();
      edits_.push_back(edit);
    }
    const int64_t step = event_.step + (moves ? options_.offset : 0);
    if (!any && step == event_.step) return Fate::keep;
    switch (edit_event(payload, edits_, step != event_.step ? &step : nullptr, event_bytes_)) {
      case Edited::kept:
        return Fate::edit;
      case Edited::gone:
        return Fate::drop;
      case Edited::malformed:
        break;
    }
    return Fate::keep;
  }

  static bool tagged(Form form) { return form < Form::graph_def || form == Form::run_metadata; }

  SeriesState* state_of(const ValueRef& value, Bytes payload) {
    static constexpr std::string_view names[] = {"graph_def", "meta_graph_def", "log_message", "session_log"};
    std::string_view tag;
    switch (value.form) {
      case Form::graph_def:
        tag = names[0];
        break;
      case Form::meta_graph_def:
        tag = names[1];
        break;
      case Form::log_message:
        tag = names[2];
        break;
      case Form::session_log:
        tag = names[3];
        break;
      default:
        tag = as_text(payload.subspan(value.tag.offset, value.tag.length));
    }
    TagStates* found = follow(tag);
    if (!found) return nullptr;
    Kind kind = kind_of(value.form, found->all.front()->report->metadata.plugin);
    if (kind == Kind::scalars && value.form == Form::tensor && found->all.size() > 1 &&
        found->has(Kind::tensors)) {
      if (!number(value, payload, nullptr)) kind = Kind::tensors;
    }
    return &found->of(kind);
  }

  static bool number(const ValueRef& value, Bytes payload, double* out) {
    if (value.form == Form::simple_value) {
      if (out) *out = value.scalar;
      return true;
    }
    if (value.payload.length > kLargeRecord) return false;
    const ScalarTensor tensor = scalar_of_tensor(payload.subspan(value.payload.offset, value.payload.length));
    if (out) *out = tensor.value;
    return tensor.valid;
  }

  // Whether a value of this series at this step stays; counts it.
  bool wanted(SeriesState& state, int64_t step, const ValueRef* value = nullptr, Bytes payload = {}) {
    if (state.rule->drop) {
      ++report_.dropped_rule;
      return false;
    }
    if (!partial_ || stepless(state.report->kind)) return true;
    if (options_.resume && step >= state.limit(session_)) {
      ++report_.dropped_restart;
      return false;
    }
    if (step < options_.first_step || step > options_.last_step) {
      ++report_.dropped_steps;
      return false;
    }
    const uint64_t place = state.seen++;
    bool stays = place % options_.every == 0;
    if (stays && options_.max_points > 0) {
      const uint64_t thinned = place / options_.every;
      switch (pass_) {
        case Pass::count:
          state.picks.count();
          break;
        case Pass::pick: {
          double number_at = 0;
          if (state.report->kind == Kind::scalars && value && number(*value, payload, &number_at)) {
            state.picks.offer(thinned, number_at);
          }
          break;
        }
        case Pass::write:
          stays = state.picks.has(thinned);
          break;
      }
    }
    report_.dropped_thinned += !stays;
    return stays;
  }

  // A large record whose values are all dropped by their series' rules, and that holds nothing else, need not
  // be read.
  bool dropped_unread(uint64_t at, uint64_t length) {
    FileSource source(reader_, at + kHeader, length);
    event_.clear();
    if (!walk_event(source, event_) || event_.values.empty() || event_.has_file_version) return false;
    Fields<FileSource> fields(source, {0, length});
    Fields<FileSource>::Item item;
    while (fields.next(item)) {
      if (item.number != 1 && item.number != 2 && item.number != 5) return false;
      if (item.number != 5) continue;
      Fields<FileSource> inner(source, item.range);
      Fields<FileSource>::Item value;
      while (inner.next(value)) {
        if (!value.is(1, Wire::bytes)) return false;
      }
    }
    for (const ValueRef& value : event_.values) {
      if (value.tag.length > kLargeRecord) return false;
      const uint8_t* name = source.at(value.tag.offset, static_cast<size_t>(value.tag.length));
      if (!name) return false;
      const TagStates* found =
          states_.find({reinterpret_cast<const char*>(name), static_cast<size_t>(value.tag.length)});
      if (!found || found->all.size() != 1 || !found->all.front()->rule->drop) return false;
    }
    const uint64_t next = at + kOverhead + length;
    const uint8_t* header = next < reader_.end() ? reader_.view(next, kHeader) : nullptr;
    uint64_t unused;
    if (next != reader_.end() && !(header && read_header(header, unused))) return false;
    report_.dropped_rule += event_.values.size();
    return true;
  }

  const Result& survey_;
  const std::vector<std::string>& paths_;
  const uint32_t run_;
  const RewriteOptions& options_;
  RunStates states_;
  BlockReader reader_;
  File file_;
  Output out_;
  RewriteReport report_;
  Pass pass_ = Pass::write;
  bool partial_ = false;   // values of one series may meet different fates
  bool verbatim_ = false;  // nothing changes at all
  bool open_ = false;
  uint32_t file_index_ = 0;
  uint32_t session_ = 0;
  uint64_t since_ = 0;
  TagStates* last_ = nullptr;
  EventRef event_;
  std::vector<ValueEdit> edits_;
  std::string event_bytes_;
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
