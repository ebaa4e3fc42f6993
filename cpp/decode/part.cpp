// The decoder's loop: verified records in batches, fast paths for repeating events, a general path for the
// rest, past damage.
#include "decode/part.hpp"

#include <algorithm>

#include "decode/part_decoder.hpp"

namespace tbq {

PartDecoder::PartDecoder(const File& file, BlockReader& reader, Pool& pool, const PartOptions& options,
                         Part& out)
    : file_(file),
      reader_(reader),
      pool_(pool),
      options_(options),
      part_(out),
      scalars_(out.tags, pool, options),
      blobs_(out, pool),
      walker_(reader, *this, options.stop) {
  if (options.renamed) part_.renamed = *options.renamed;
}

void PartDecoder::run(uint64_t begin, uint64_t limit) {
  reader_.reset(&file_, file_.size());
  part_.begin = begin;
  part_.limit = limit;
  Session first;
  first.continues = begin > 0;
  first.offset = begin;
  begin_session(first);
  walker_.walk(begin, limit);
  part_.stopped = walker_.stopped();
  part_.settled = walker_.settled();
  part_.truncated = walker_.unfinished();
  part_.end = reader_.end();
  part_.bytes_read = reader_.bytes_read();
  part_.error = reader_.error();
  finish();
}

bool PartDecoder::records(const Frame* frames, size_t count, uint64_t at) {
  const uint64_t end = at + static_cast<uint64_t>(frames[count - 1].payload - frames[0].payload);
  pool_.note_progress(end - part_.begin, std::min(part_.limit, reader_.end()) - end);
  Tally tally;
  for (size_t i = 0; i < count; ++i) {
    if (fast()) i += scalars_.store_matching(frames + i, count - i, tally);
    if (i == count) break;
    add_tally(tally);
    const uint64_t record = at + static_cast<uint64_t>(frames[i].payload - frames[0].payload);
    one_record(record, {frames[i].payload, frames[i].length});
  }
  add_tally(tally);
  return true;
}

bool PartDecoder::lost(FaultCode code, uint64_t at, uint64_t length) {
  add_fault(code, at, length);
  return true;
}

void PartDecoder::passed(uint64_t bytes) {
  if (options_.progress) options_.progress->fetch_add(bytes, std::memory_order_relaxed);
}

// Stores an event that repeats the last event of the expected tag except for its payload. Returns false, and
// takes nothing, if it is anything else.
bool PartDecoder::fast_blob(uint64_t at, Bytes payload) {
  TagEntry* entry = scalars_.predictor().guess();
  EventHead head;
  ValueRef value;
  if (!entry || !entry->blob_template || !fast() ||
      !FastBlobs::fits(*entry->blob_template, payload, head, value)) {
    return false;
  }
  const BlobTemplate& known = *entry->blob_template;
  BlobSeries& series = *known.series;
  if (!series.segments.is_open(session_)) return false;  // the first event of a session may carry more
  event_.step = head.step;
  event_.wall_time = head.wall_time;
  note_record(event_.wall_time);
  now_->steps.add(event_.step);
  entry->leads |= lead_bit(payload[static_cast<size_t>(value.payload.offset)]);
  scalars_.predictor().follow(entry);
  series.segments.note(session_, series.rows.size(), event_.step, event_.wall_time);
  if (wants(known.kind) && entry->selected && in_range(event_.step)) {
    add_blob(at, value, EventBytes(payload), *entry, series, known.kind);
  }
  return true;
}

void PartDecoder::one_record(uint64_t at, Bytes payload) {
  if (!fast_blob(at, payload)) general_record(at, payload);
}

void PartDecoder::general_record(uint64_t at, Bytes payload) {
  event_.clear();
  MemorySource source(payload);
  const bool valid = walk_event(source, event_);
  add_event(at, EventBytes(payload));
  if (!valid) add_fault(FaultCode::bad_event, at, payload.size() + kOverhead);
}

void PartDecoder::add_tally(Tally& tally) {
  if (tally.steps.count == 0) return;
  part_.records += tally.steps.count;
  now_->records += tally.steps.count;
  now_->steps.merge(tally.steps);
  now_->times.merge(tally.times);
  tally = {};
}

void PartDecoder::add_fault(FaultCode code, uint64_t at, uint64_t length) {
  part_.lost_bytes += length;
  after_fault_ = true;
  if (!part_.listed.takes(code)) {  // the rest is counted, not listed
    ++part_.more_faults;
    return;
  }
  Fault fault;
  fault.code = code;
  fault.offset = at;
  fault.length = length;
  fault.has_before = now_->steps.count > 0;
  fault.step_before = now_->steps.last;
  part_.faults.push_back(fault);
}

void PartDecoder::begin_session(const Session& session) {
  part_.sessions.push_back(session);
  session_ = static_cast<uint32_t>(part_.sessions.size() - 1);
  now_ = &part_.sessions.back();
  scalars_.enter(session_);
}

void PartDecoder::finish() {
  for (auto& entry : part_.tags.all) {
    entry->scalars.finish();
    for (auto& [kind, series] : entry->blobs) {
      series.segments.finish(series.rows.size());
      if (series.histograms) series.histograms->flush();
    }
  }
}

void decode_part(const File& file, BlockReader& reader, Pool& pool, const PartOptions& options,
                 uint64_t begin, uint64_t limit, Part& out) {
  PartDecoder(file, reader, pool, options, out).run(begin, limit);
}

}  // namespace tbq
