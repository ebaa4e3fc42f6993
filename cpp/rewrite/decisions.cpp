// The rules of a rewrite, applied to one event after the other.
#include "rewrite/decisions.hpp"

#include "bytes/cursor.hpp"
#include "record/framing.hpp"

namespace tbq {

namespace {

bool tagged(Form form) { return form < Form::graph_def || form == Form::run_metadata; }

bool number(const ValueRef& value, Bytes payload, double* out) {
  if (value.form == Form::simple_value) {
    if (out) *out = value.scalar;
    return true;
  }
  if (value.payload.length > kLargeRecord) return false;
  const ScalarTensor tensor = scalar_of_tensor(payload.subspan(value.payload.offset, value.payload.length));
  if (out) *out = tensor.value;
  return tensor.valid;
}

}  // namespace

Fates::Fates(const Result& survey, uint32_t run, const std::vector<SeriesRule>& rules,
             const RewriteOptions& options)
    : options_(options), states_(survey, run, rules) {
  partial_ = options.first_step != INT64_MIN || options.last_step != INT64_MAX || options.every > 1 ||
             options.max_points > 0 || options.resume;
  verbatim_ = states_.untouched() && !partial_ && options.offset == 0;
}

void Fates::begin(Pass pass, RewriteReport& report) {
  if (pass == Pass::pick) {
    states_.each(
        [&](SeriesState& one) { one.picks.prepare(options_.max_points, one.report->kind == Kind::scalars); });
  } else if (pass == Pass::write && options_.max_points > 0) {
    states_.each([](SeriesState& one) { one.picks.finish(); });
  }
  pass_ = pass;
  report_ = &report;
  states_.rewind();
}

Fate Fates::of(Bytes payload) {
  Fate fate;
  if (pass_ == Pass::write && plain(payload, fate)) return fate;
  event_.clear();
  MemorySource source(payload);
  if (!walk_event(source, event_)) return Fate::keep;
  return of_event(payload);
}

// An event of a time, perhaps a step, and one value that begins with its tag: decided by these alone, where
// that is enough. False where it is not.
bool Fates::plain(Bytes payload, Fate& fate) {
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

TagStates* Fates::follow(std::string_view tag) {
  TagStates* found = last_ && last_->next && last_->next->name() == tag ? last_->next : states_.find(tag);
  if (last_) last_->next = found;
  last_ = found;
  return found;
}

Fate Fates::of_event(Bytes payload) {
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
        if (tagged(value.form) && !state->metadata_kept && needs_metadata(*state, value, payload)) {
          const std::string& metadata = state->report->metadata_bytes;
          edit.metadata = {reinterpret_cast<const uint8_t*>(metadata.data()), metadata.size()};
        }
        state->metadata_kept = state->metadata_kept || value.has_metadata || !edit.metadata.empty();
      }
    }
    any = any || edit.any();
    edits_.push_back(edit);
  }
  const int64_t step = event_.step + (moves ? options_.offset : 0);
  if (!any && step == event_.step) return Fate::keep;
  switch (edit_event(payload, edits_, step != event_.step ? &step : nullptr, edited_)) {
    case Edited::kept:
      return Fate::edit;
    case Edited::gone:
      return Fate::drop;
    case Edited::malformed:
      break;
  }
  return Fate::keep;
}

// Whether a value that stays must be given the metadata of its tag: what held it was left out, or may yet be,
// and without it the value would be of another kind.
bool Fates::needs_metadata(const SeriesState& state, const ValueRef& value, Bytes payload) const {
  if (state.report->metadata_bytes.empty()) return false;
  const bool by_plugin = value.form == Form::tensor || value.form == Form::none;
  if (!value.has_metadata) return state.metadata_lost || (partial_ && by_plugin);
  // Its own would now be the first of the tag; that of a field that comes later counts.
  TagMetadata own;
  return state.metadata_lost && by_plugin &&
         parse_metadata(payload.subspan(value.metadata.offset, value.metadata.length), own) &&
         own.plugin != state.report->metadata.plugin;
}

SeriesState* Fates::state_of(const ValueRef& value, Bytes payload) {
  const std::string_view untagged = untagged_name(value.form);
  const std::string_view tag =
      untagged.empty() ? as_text(payload.subspan(value.tag.offset, value.tag.length)) : untagged;
  TagStates* found = follow(tag);
  if (!found) return nullptr;
  Kind kind = kind_of(value.form, found->all.front()->report->metadata.plugin);
  if (kind == Kind::scalars && value.form == Form::tensor && found->all.size() > 1 &&
      found->has(Kind::tensors)) {
    if (!number(value, payload, nullptr)) kind = Kind::tensors;
  }
  return &found->of(kind);
}

// Whether a value of this series at this step stays; counts it.
bool Fates::wanted(SeriesState& state, int64_t step, const ValueRef* value, Bytes payload) {
  if (state.rule->drop) {
    ++report_->dropped_rule;
    return false;
  }
  if (!partial_ || stepless(state.report->kind)) return true;
  if (options_.resume && step >= state.limit(session_)) {
    ++report_->dropped_restart;
    return false;
  }
  if (step < options_.first_step || step > options_.last_step) {
    ++report_->dropped_steps;
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
  report_->dropped_thinned += !stays;
  return stays;
}

size_t Fates::dropped_unread(FileSource& source) {
  event_.clear();
  if (!walk_event(source, event_) || event_.strange || event_.values.empty()) return 0;
  if (event_.has_file_version || event_.writer.length > 0) return 0;
  for (const ValueRef& value : event_.values) {
    if (!untagged_name(value.form).empty() || value.tag.length > kLargeRecord) return 0;
    const uint8_t* name = source.at(value.tag.offset, static_cast<size_t>(value.tag.length));
    if (!name) return 0;
    const TagStates* found =
        states_.find({reinterpret_cast<const char*>(name), static_cast<size_t>(value.tag.length)});
    if (!found || found->all.size() != 1 || !found->all.front()->rule->drop) return 0;
  }
  return event_.values.size();
}

}  // namespace tbq
