// The decoder's loop: verified records in batches, short ways for what repeats, a general way for everything
// else, and past damage.
#include "decode/part.hpp"

#include <algorithm>
#include <cmath>

#include "decode/fast_blobs.hpp"
#include "decode/fast_scalars.hpp"
#include "event/file_source.hpp"
#include "record/framing.hpp"
#include "record/walker.hpp"

namespace tbq {

namespace {

constexpr uint64_t kHeldRecord = uint64_t{1} << 20;  // a record up to this size is held in memory

class PartDecoder {
 public:
  PartDecoder(const File& file, BlockReader& reader, Pool& pool, const PartOptions& options, Part& out)
      : file_(file),
        reader_(reader),
        pool_(pool),
        options_(options),
        part_(out),
        scalars_(out.tags, pool, options),
        blobs_(out, pool),
        walker_(reader, *this, options.cancelled) {}

  void run(uint64_t begin, uint64_t limit) {
    reader_.reset(&file_, file_.size());
    part_.begin = begin;
    part_.limit = limit;
    Session first;
    first.continues = begin > 0;
    first.offset = begin;
    part_.sessions.push_back(first);
    enter_session();
    walker_.walk(begin, limit);
    part_.stopped = walker_.stopped();
    part_.settled = walker_.settled();
    part_.truncated = walker_.unfinished();
    part_.end = reader_.end();
    part_.bytes_read = reader_.bytes_read();
    part_.error = reader_.error();
    finish();
  }

  // ---- what the walk comes by
  // ----------------------------------------------------------------------------------

  bool records(const Frame* frames, size_t count, uint64_t at) {
    Tally tally;
    for (size_t i = 0; i < count; ++i) {
      if (short_ways()) i += scalars_.take(frames + i, count - i, tally);
      if (i == count) break;
      add(tally);
      const uint64_t record = at + static_cast<uint64_t>(frames[i].payload - frames[0].payload);
      const Bytes payload(frames[i].payload, frames[i].length);
      if (!blob_record(record, payload)) general_record(record, payload);
    }
    add(tally);
    return true;
  }

  // A large record is passed over if nothing of it is wanted, else read and verified whole.
  Large large(uint64_t at, uint64_t length) {
    unsure_ = false;
    if (!options_.careful && length < kLargestEvent) {
      const Use use = use_of(at, length);
      if (use == Use::tags) {
        if (walker_.recovery().agrees(at, length)) {
          learn_tags(at, length);
        } else {
          doubt(at, length);
        }
      }
      if (use != Use::rows) {
        ++part_.passed;
        return Large::pass;
      }
    }
    const bool bytes_wanted =
        !options_.defer && !options_.steps_only && (options_.kinds & ~bit(Kind::scalars)) != 0;
    const bool held = length <= kHeldRecord || (bytes_wanted && length < kLargestEvent);
    return held ? Large::bytes : Large::place;
  }

  bool large_record(uint64_t at, uint64_t length, Bytes payload) {
    if (!payload.empty()) {
      general_record(at, payload);
      return true;
    }
    event_.clear();
    FileSource source(reader_, at + kHeader, length);
    if (length >= kLargestEvent) {
      note_record(0);
      add_fault(FaultCode::bad_event, at, length + kOverhead);
    } else if (walk_event(source, event_) && tags_readable()) {
      take_event(at, length, [&](Range range) { return view_of(source, range); }, {});
    } else if (const uint8_t* data = reader_.view(at + kHeader, static_cast<size_t>(length))) {
      general_record(at, {data, static_cast<size_t>(length)});
    }
    return true;
  }

  void refused(uint64_t at, uint64_t length) {
    if (unsure_) note_unsure(at, length);
  }

  bool lost(FaultCode code, uint64_t at, uint64_t length) {
    add_fault(code, at, length);
    return true;
  }

  void passed(uint64_t bytes) {
    if (options_.progress) options_.progress->fetch_add(bytes, std::memory_order_relaxed);
  }

 private:
  // The short ways count nothing but values: the first event of a session, and the first after damage, say
  // more.
  bool short_ways() const { return !after_fault_ && now_->timed && !options_.general_only; }

  // ---- everything else
  // ---------------------------------------------------------------------------------------

  // An event like the last one of the tag that is expected, but for its payload. False where it is anything
  // else; then nothing has been taken from it.
  bool blob_record(uint64_t at, Bytes payload) {
    TagEntry* entry = scalars_.guess();
    ValueRef value;
    int64_t step;
    if (!entry || !entry->blob_shape || !short_ways() ||
        !BlobPath::fits(*entry->blob_shape, payload, step, value)) {
      return false;
    }
    const BlobTemplate& shape = *entry->blob_shape;
    BlobSeries& series = *shape.series;
    if (!series.segments.is_open(session_)) return false;  // the first of a session may say more
    event_.step = step;
    event_.wall_time = load_le<double>(payload.data() + 1);
    note_record(event_.wall_time);
    note_value(step);
    scalars_.follow(entry);
    series.segments.note(session_, series.rows.size(), step, event_.wall_time);
    if (wants(shape.kind) && entry->selected && in_range(step)) {
      keep_blob(
          at, payload.size(), value, [&](Range range) { return payload.subspan(range.offset, range.length); },
          payload, *entry, series, shape.kind);
    }
    return true;
  }

  void general_record(uint64_t at, Bytes payload) {
    event_.clear();
    MemorySource source(payload);
    const bool whole = walk_event(source, event_);
    take_event(
        at, payload.size(), [&](Range range) { return payload.subspan(range.offset, range.length); },
        payload);
    if (!whole) add_fault(FaultCode::bad_event, at, payload.size() + kOverhead);
  }

  // `bytes_of` gives the bytes of a range; `memory` is the whole payload where it is in memory, else empty:
  // then values that would be stored are kept as references.
  template <class BytesOf>
  void take_event(uint64_t at, uint64_t length, BytesOf&& bytes_of, Bytes memory) {
    if (event_.has_file_version && (part_.begin > 0 || part_.records + part_.passed > 0)) begin_session(at);
    if (event_.has_file_version && part_.file_version.empty()) {
      part_.file_version = as_text(bytes_of(event_.file_version));
    }
    if (event_.writer.length > 0 && part_.writer.empty()) part_.writer = as_text(bytes_of(event_.writer));
    if (event_.session_start) {
      Session& session = part_.sessions[session_];
      session.start_step = session.has_start ? std::min(session.start_step, event_.step) : event_.step;
      session.has_start = true;
    }
    note_record(event_.wall_time);
    if (!part_.has_event) part_.first_event_step = event_.step;
    part_.has_event = true;
    if (after_fault_) {
      for (; open_fault_ < part_.faults.size(); ++open_fault_) {
        part_.faults[open_fault_].has_after = true;
        part_.faults[open_fault_].step_after = event_.step;
      }
      after_fault_ = false;
    }
    for (const ValueRef& value : event_.values) take_value(at, length, value, bytes_of, memory);
  }

  template <class BytesOf>
  void take_value(uint64_t at, uint64_t length, const ValueRef& value, BytesOf&& bytes_of, Bytes memory) {
    TagEntry& entry = entry_of(as_text(tag_of(value, bytes_of)));
    learn_metadata(entry, value, bytes_of);
    note_value(event_.step);
    scalars_.follow(&entry);
    if (value.form == Form::simple_value) {
      scalars_.keep(entry, entry.scalars, event_.step, event_.wall_time, value.scalar);
      // A number that ends the event, behind its key, with nothing else behind the tag.
      if (alone(value, memory) && value.tag.offset + value.tag.length + 5 == memory.size() &&
          memory[memory.size() - 5] == 0x15) {
        ScalarPath::learn(entry, memory, memory.size() - 4, 4);
      }
      return;
    }
    Kind kind = kind_of(value.form, entry.plugin);
    const bool by_plugin = value.form == Form::tensor || value.form == Form::none;
    if (by_plugin && !entry.plugin_known) entry.assumed = true;
    if (entry.dtype == 0 && value.form == Form::tensor) entry.dtype = dtype_of(value, bytes_of);
    bool refused = false;
    if (kind == Kind::scalars) {
      if (value.payload.length <= kLargeRecord) {
        const ScalarTensor number = scalar_of_tensor(bytes_of(value.payload));
        if (number.valid) {
          if (number.rounded) ++entry.rounded;
          scalars_.keep(entry, entry.scalars, event_.step, event_.wall_time, number.value);
          if (number.slot && alone(value, memory)) {
            ScalarPath::learn(entry, memory, static_cast<size_t>(number.slot - memory.data()),
                              number.dtype == 1 ? 4 : 8);
          }
          return;
        }
      }
      ++entry.refused;  // still a tensor
      refused = true;
      kind = Kind::tensors;
    }
    BlobSeries& series = entry.blobs[static_cast<uint8_t>(kind)];
    series.segments.note(session_, series.rows.size(), event_.step, event_.wall_time);
    if (wants(kind) && entry.selected && in_range(event_.step)) {
      keep_blob(at, length, value, bytes_of, memory, entry, series, kind);
    }
    if (!refused && alone(value, memory)) BlobPath::learn(entry, value, memory, kind, series);
  }

  // The first metadata of a tag counts for all of its values; it may stand on this one.
  template <class BytesOf>
  void learn_metadata(TagEntry& entry, const ValueRef& value, BytesOf&& bytes_of) {
    if (!value.has_metadata || knows_metadata(entry)) return;
    const Bytes bytes = bytes_of(value.metadata);
    SessionMetadata found;
    found.session = session_;
    if (!entry.metadata.empty() && std::ranges::equal(entry.metadata.back().bytes, bytes)) {
      found.parsed = entry.metadata.back().parsed;
      found.bytes = entry.metadata.back().bytes;
    } else {
      auto parsed = std::make_shared<TagMetadata>();
      if (!parse_metadata(bytes, *parsed)) return;
      found.parsed = std::move(parsed);
      found.bytes = {part_.arena.copy(bytes.data(), bytes.size()), bytes.size()};
    }
    if (!entry.plugin_known) entry.plugin = found.parsed->plugin;
    entry.plugin_known = true;
    entry.metadata.push_back(std::move(found));
  }
  bool knows_metadata(const TagEntry& entry) const {
    return !entry.metadata.empty() && entry.metadata.back().session == session_;
  }

  // Whether the event is in memory, and holds this one value and nothing behind it.
  bool alone(const ValueRef& value, Bytes memory) const {
    return !memory.empty() && event_.values.size() == 1 && value.end == memory.size();
  }

  template <class BytesOf>
  static Bytes tag_of(const ValueRef& value, BytesOf&& bytes_of) {
    const std::string_view name = untagged_name(value.form);
    if (name.empty()) return bytes_of(value.tag);
    return {reinterpret_cast<const uint8_t*>(name.data()), name.size()};
  }

  template <class BytesOf>
  static uint64_t dtype_of(const ValueRef& value, BytesOf&& bytes_of) {
    // dtype is the first field that any writer writes; a few bytes are enough to see it.
    const Bytes head = bytes_of({value.payload.offset, std::min<uint64_t>(value.payload.length, 4)});
    return head.size() >= 2 && head[0] == 0x08 && head[1] < 0x80 ? head[1] : 0;
  }

  bool in_range(int64_t step) const { return step >= options_.first_step && step <= options_.last_step; }
  bool wants(Kind kind) const { return (options_.kinds & bit(kind)) != 0; }

  template <class BytesOf>
  void keep_blob(uint64_t at, uint64_t length, const ValueRef& value, BytesOf&& bytes_of, Bytes memory,
                 const TagEntry& entry, BlobSeries& series, Kind kind) {
    BlobRow& row = series.rows.add(pool_);
    row.step = event_.step;
    row.wall_time = event_.wall_time;
    row.form = value.form;
    row.file = part_.file;
    row.record = at;
    row.record_length = static_cast<uint32_t>(length);
    row.payload_offset = static_cast<uint32_t>(value.payload.offset);
    row.payload_length = static_cast<uint32_t>(value.payload.length);
    if (options_.steps_only) return;
    if ((memory.empty() || (options_.defer && length > kLargeRecord)) && value.payload.length > 0) {
      row.deferred = true;
    } else {
      const Bytes payload = bytes_of(value.payload);
      if (kind != Kind::histograms || value.form != Form::tensor ||
          !blobs_.keep_histogram(at, std::min(part_.limit, reader_.end()) - at, payload, series, row)) {
        row.payload = part_.arena.copy(payload.data(), payload.size());
      }
    }
    if (value.has_metadata) {
      const Bytes metadata = bytes_of(value.metadata);
      const bool known = !entry.metadata.empty() && std::ranges::equal(entry.metadata.back().bytes, metadata);
      row.metadata =
          known ? entry.metadata.back().bytes.data() : part_.arena.copy(metadata.data(), metadata.size());
      row.metadata_length = static_cast<uint32_t>(metadata.size());
    }
  }

  // ---- large records
  // ------------------------------------------------------------------------------------------

  static Bytes view_of(FileSource& source, Range range) {
    const uint8_t* data = source.at(range.offset, static_cast<size_t>(range.length));
    return data ? Bytes(data, static_cast<size_t>(range.length)) : Bytes();
  }

  // Whether all but the payloads of the event just walked is small.
  bool tags_readable() const {
    return std::all_of(event_.values.begin(), event_.values.end(), [](const ValueRef& value) {
      return value.tag.length <= kLargeRecord && value.metadata.length <= kLargeRecord;
    });
  }

  enum class Use {
    none,  // it may be passed over
    tags,  // nothing but the tags that it names, or what it says of them
    rows,  // rows, or what only a verified record can say
  };

  // What an unverified record is good for, as far as it can be told without reading its payloads. It must not
  // depend on where the part begins: a record that the walk from the file's start would pass over counts for
  // nothing here either.
  Use use_of(uint64_t at, uint64_t length) {
    event_.clear();
    FileSource source(reader_, at + kHeader, length);
    if (!walk_event(source, event_) || event_.strange || event_.values.empty() || !tags_readable() ||
        event_.has_file_version || event_.session_start || event_.writer.length > 0) {
      return Use::rows;
    }
    if (part_.begin == 0 && part_.records == 0) return Use::rows;  // when the run began is of use to all
    bool news = false;
    for (const ValueRef& value : event_.values) {
      const auto bytes_of = [&](Range range) { return view_of(source, range); };
      const std::string tag(as_text(tag_of(value, bytes_of)));
      const TagEntry* entry = part_.tags.find(tag);
      news = news || !entry || (value.has_metadata && !knows_metadata(*entry));
      if (entry ? !entry->selected : !selected(tag)) continue;
      std::string plugin;
      bool known = value.form != Form::tensor && value.form != Form::none;
      if (!known) known = entry ? entry->plugin_known : known_elsewhere(tag, plugin);
      if (entry) plugin = entry->plugin;
      if (!known && value.has_metadata) {
        TagMetadata metadata;
        known = parse_metadata(bytes_of(value.metadata), metadata);
        plugin = metadata.plugin;
      }
      if (!known) {
        if (options_.kinds == 0) continue;
        unsure_ = true;
        return Use::rows;
      }
      const Kind kind = kind_of(value.form, plugin);
      // A value of a scalar tag that is not one number is a tensor, and counted.
      const bool refusable = kind == Kind::scalars && value.form == Form::tensor;
      if (wants(kind) || (refusable && wants(Kind::tensors))) return Use::rows;
    }
    if (!leads_on(at, at + kOverhead + length)) return Use::rows;
    return news ? Use::tags : Use::none;
  }

  // Whether a record or the end of the file follows at `next`, and no small record seems to end there: bytes
  // that were cut out of this one would let its length lead past records that stand inside it now.
  bool leads_on(uint64_t at, uint64_t next) {
    const uint64_t from = std::max(at + kHeader, next - std::min<uint64_t>(next, kLargeRecord + kOverhead));
    const uint8_t* data = reader_.view(from, static_cast<size_t>(next - from));
    if (!data) return false;
    for (uint64_t offset = 0; offset + kOverhead <= next - from; ++offset) {
      uint64_t length;
      if (load_le<uint64_t>(data + offset) == next - from - offset - kOverhead &&
          read_header(data + offset, length)) {
        return false;
      }
    }
    return walker_.recovery().followed(next);
  }

  // What the verified record at `at` says of its tags, of whose values nothing is wanted.
  void learn_tags(uint64_t at, uint64_t length) {
    event_.clear();
    FileSource source(reader_, at + kHeader, length);
    if (!walk_event(source, event_)) return;
    const auto bytes_of = [&](Range range) { return view_of(source, range); };
    for (const ValueRef& value : event_.values) {
      TagEntry& entry = entry_of(as_text(tag_of(value, bytes_of)));
      learn_metadata(entry, value, bytes_of);
      const Kind kind = kind_of(value.form, entry.plugin);
      const bool number = value.form == Form::simple_value;
      Segments& segments = number ? entry.scalars.segments : entry.blobs[static_cast<uint8_t>(kind)].segments;
      if (!segments.is_open(session_)) {
        segments.note(session_, number ? entry.scalars.rows() : 0, event_.step, event_.wall_time);
      }
    }
  }

  // The tags that a damaged record seems to name.
  std::vector<Doubt::Tag> tags_of(uint64_t at, uint64_t length) {
    std::vector<Doubt::Tag> tags;
    event_.clear();
    FileSource source(reader_, at + kHeader, length);
    if (!walk_event(source, event_) || !tags_readable()) return tags;
    for (const ValueRef& value : event_.values) {
      const Bytes tag = tag_of(value, [&](Range range) { return view_of(source, range); });
      tags.push_back({std::string(as_text(tag)), value.has_metadata});
    }
    return tags;
  }
  void note_unsure(uint64_t at, uint64_t length) {
    for (Doubt::Tag& tag : tags_of(at, length)) part_.unsure.insert(std::move(tag.name));
  }
  void doubt(uint64_t at, uint64_t length) {
    note_unsure(at, length);
    const size_t faults = part_.faults.size();
    add_fault(FaultCode::bad_payload, at, length + kOverhead);
    if (part_.begin > 0 && part_.faults.size() > faults) {
      part_.doubts.push_back({faults, tags_of(at, length)});
    }
  }

  void add_fault(FaultCode code, uint64_t at, uint64_t length) {
    part_.lost_bytes += length;
    after_fault_ = true;
    if (part_.faults.size() == kMostFaults) {  // the rest is counted, not listed
      ++part_.more_faults;
      return;
    }
    Fault fault;
    fault.code = code;
    fault.offset = at;
    fault.length = length;
    const Session& session = part_.sessions[session_];
    fault.has_before = session.values > 0;
    fault.step_before = session.last_step;
    part_.faults.push_back(fault);
  }

  // ---- sessions and tags
  // ----------------------------------------------------------------------------------------

  void add(Tally& tally) {
    if (tally.records == 0) return;
    part_.records += tally.records;
    now_->records += tally.records;
    if (now_->values == 0) {
      now_->first_step = tally.first_step;
      now_->max_step = tally.max_step;
    }
    now_->values += tally.records;
    now_->last_step = tally.last_step;
    now_->max_step = std::max(now_->max_step, tally.max_step);
    now_->earliest = std::min(now_->earliest, tally.earliest);
    now_->end = std::max(now_->end, tally.latest);
    tally = {};
  }

  void begin_session(uint64_t at) {
    Session session;
    session.offset = at;
    part_.sessions.push_back(session);
    enter_session();
  }
  void enter_session() {
    session_ = static_cast<uint32_t>(part_.sessions.size() - 1);
    now_ = &part_.sessions.back();
    scalars_.enter(session_);
  }

  void note_record(double wall) {
    ++part_.records;
    ++now_->records;
    if (!now_->timed && wall != 0 && !std::isnan(wall)) {
      now_->timed = true;
      now_->begin = now_->end = wall;
    }
    if (wall < now_->earliest && is_time(wall)) now_->earliest = wall;
    if (wall > now_->end) now_->end = wall;
  }
  void note_value(int64_t step) {
    if (now_->values++ == 0) now_->first_step = now_->max_step = step;
    now_->last_step = step;
    if (step > now_->max_step) now_->max_step = step;
  }

  TagEntry& entry_of(std::string_view tag) {
    if (TagEntry* guess = scalars_.guess(); guess && guess->tag == tag) return *guess;
    if (TagEntry* found = part_.tags.find(tag)) return *found;
    TagEntry& added = part_.tags.add(tag);
    added.selected = selected(tag);
    added.plugin_known = known_elsewhere(added.tag, added.plugin);
    return added;
  }
  bool known_elsewhere(const std::string& tag, std::string& plugin) const {
    if (!options_.plugins) return false;
    const auto known = options_.plugins->find(tag);
    if (known == options_.plugins->end()) return false;
    plugin = known->second;
    return true;
  }
  bool selected(std::string_view tag) const {
    return !options_.select || !*options_.select || (*options_.select)(options_.run, tag);
  }

  void finish() {
    for (auto& entry : part_.tags.all) {
      entry->scalars.finish();
      for (auto& [kind, series] : entry->blobs) {
        series.segments.finish(series.rows.size());
        if (series.triples) series.triples->flush();
      }
    }
  }

  const File& file_;
  BlockReader& reader_;
  Pool& pool_;
  const PartOptions& options_;
  Part& part_;
  uint32_t session_ = 0;
  Session* now_ = nullptr;
  bool after_fault_ = false;
  size_t open_fault_ = 0;  // the first fault that no event has followed yet
  ScalarPath scalars_;
  BlobPath blobs_;
  RecordWalker<PartDecoder> walker_;
  EventRef event_;
  bool unsure_ = false;  // the kind of a value in the large record at hand is not known
};

}  // namespace

void decode_part(const File& file, BlockReader& reader, Pool& pool, const PartOptions& options,
                 uint64_t begin, uint64_t limit, Part& out) {
  PartDecoder(file, reader, pool, options, out).run(begin, limit);
}

}  // namespace tbq
