// Applies the rules of a rewrite to one event after the other.
#include "rewrite/decisions.hpp"

#include "event/head.hpp"
#include "event/metadata.hpp"
#include "event/scalar_tensor.hpp"
#include "record/framing.hpp"

namespace tbq {

namespace {

// Whether the field belongs to a Summary.Value, which can have metadata.
bool in_summary(ValueField field) { return field < ValueField::graph_def; }
bool tagged(ValueField field) { return in_summary(field) || field == ValueField::run_metadata; }

bool number(const ValueRef& value, Bytes payload, double* out) {
  if (value.field == ValueField::simple_value) {
    if (out) *out = value.scalar;
    return true;
  }
  if (value.payload.length > kLargeRecord) return false;
  const ScalarTensor tensor = scalar_of_tensor(payload.subspan(value.payload.offset, value.payload.length));
  if (out) *out = tensor.value;
  return tensor.valid;
}

}  // namespace

Decisions::Decisions(const Result& survey, uint32_t run, const std::vector<SeriesRule>& rules,
                     const RewriteOptions& options)
    : options_(options), states_(survey, run, rules) {
  partial_ = options.first_step != INT64_MIN || options.last_step != INT64_MAX || options.every > 1 ||
             options.max_points > 0 || options.resume;
  verbatim_ = states_.untouched() && !partial_ && options.offset == 0;
}

void Decisions::begin(Pass pass, RewriteReport& report) {
  if (pass == Pass::pick) {
    states_.each([&](SeriesState& series) {
      series.picks.prepare(options_.max_points, series.report->kind == Kind::scalars);
    });
  } else if (pass == Pass::write && options_.max_points > 0) {
    states_.each([](SeriesState& series) { series.picks.finish(); });
  }
  pass_ = pass;
  report_ = &report;
  states_.rewind();
}

Decision Decisions::of(Bytes payload) {
  Decision decision;
  if (pass_ == Pass::write && fast(payload, decision)) return decision;
  event_.clear();
  MemorySource source(payload);
  const bool valid = walk_event(source, event_);
  wall_time_ = event_.wall_time;
  was_header_ = event_.has_file_version || event_.session_start;
  return valid ? of_event(payload) : Decision::keep;
}

// The fast path. If an event has a time, perhaps a step, and one value that begins with its tag, these may be
// enough to decide. Returns false if they are not.
bool Decisions::fast(Bytes payload, Decision& decision) {
  EventHead head;
  if (options_.general_only || options_.offset != 0 || !read_head(payload, head)) return false;
  Cursor cursor(payload.subspan(head.size));
  Bytes tag;
  if (!enter_sole_value(cursor, tag)) return false;
  TagStates* states = states_of(as_text(tag));
  if (!states || states->all.size() != 1) return false;
  SeriesState& state = *states->all.front();
  if (state.rule->renamed && !state.rule->drop) return false;
  if (partial_) {
    const Bytes rest = cursor.rest();
    if (rest.size() != 5 || rest[0] != kSimpleValueKey || (states->metadata_lost && !states->metadata_kept)) {
      return false;
    }
  } else {
    Field field;  // a second tag would win over this one
    while (!cursor.empty()) {
      if (!cursor.field(field) || field.number == schema::Value::tag) return false;
    }
  }
  predictor_.follow(states);
  wall_time_ = head.wall_time;
  was_header_ = false;
  decision = wanted(state, head.step) ? Decision::keep : Decision::drop;
  return true;
}

TagStates* Decisions::states_of(std::string_view tag) {
  TagStates* guess = predictor_.guess();
  return guess && guess->name() == tag ? guess : states_.find(tag);
}

Decision Decisions::of_event(Bytes payload) {
  edits_.clear();
  bool any = false;
  bool moves = false;
  MemorySource source(payload);
  each_value(source, event_, [&](const ValueRef& value) {
    ValueEdit edit;
    if (SeriesState* state = state_of(value, payload)) {
      TagStates& tag = *predictor_.last();
      const Kind kind = state->report->kind;
      moves = moves || !stepless(kind) || kind == Kind::logs;
      if (!wanted(*state, event_.step, &value, payload)) {
        edit.drop = true;
        tag.metadata_lost = tag.metadata_lost || value.has_metadata;
      } else {
        if (state->rule->renamed && tagged(value.field)) edit.tag = &state->rule->tag;
        if (in_summary(value.field) && !tag.metadata_kept && needs_metadata(tag, value, payload)) {
          const std::string& metadata = tag.report().metadata_bytes;
          edit.metadata = {reinterpret_cast<const uint8_t*>(metadata.data()), metadata.size()};
        }
        tag.metadata_kept = tag.metadata_kept || value.has_metadata || !edit.metadata.empty();
      }
    }
    any = any || edit.any();
    if (!edits_.empty() && edits_.back().is_same(edit)) {
      ++edits_.back().count;
    } else {
      edits_.push_back(edit);
    }
  });
  const int64_t step = event_.step + (moves ? options_.offset : 0);
  if (!any && step == event_.step) return Decision::keep;
  switch (edit_event(payload, edits_, step != event_.step ? &step : nullptr, edited_)) {
    case Edited::kept:
      return Decision::edit;
    case Edited::empty:
      return Decision::drop;
    case Edited::malformed:
      break;
  }
  return Decision::keep;
}

// Whether a kept value must be given its tag's metadata: the value that carried it was dropped, or may be,
// and without metadata this value would have another kind.
bool Decisions::needs_metadata(const TagStates& tag, const ValueRef& value, Bytes payload) const {
  if (tag.report().metadata_bytes.empty()) return false;
  const bool by_plugin = value.field == ValueField::tensor || value.field == ValueField::none;
  if (!value.has_metadata) return tag.metadata_lost || (partial_ && by_plugin);
  // The value's own metadata would become the tag's first; the last such field counts.
  TagMetadata own;
  return tag.metadata_lost && by_plugin &&
         parse_metadata(payload.subspan(value.metadata.offset, value.metadata.length), own) &&
         own.plugin != tag.report().metadata.plugin;
}

SeriesState* Decisions::state_of(const ValueRef& value, Bytes payload) {
  const std::string_view untagged = untagged_name(value.field);
  const std::string_view tag =
      untagged.empty() ? as_text(payload.subspan(value.tag.offset, value.tag.length)) : untagged;
  TagStates* found = states_of(tag);
  if (!found) return nullptr;
  predictor_.follow(found);
  Kind kind = kind_of(value.field, found->report().metadata.plugin);
  if (kind == Kind::scalars && value.field == ValueField::tensor && found->all.size() > 1 &&
      found->has(Kind::tensors)) {
    if (!number(value, payload, nullptr)) kind = Kind::tensors;
  }
  return &found->of(kind);
}

// Whether a value of this series at this step stays; counts the value.
bool Decisions::wanted(SeriesState& state, int64_t step, const ValueRef* value, Bytes payload) {
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

size_t Decisions::dropped_unread(FileSource& source) {
  event_.clear();
  if (!walk_event(source, event_) || event_.strange || event_.values.empty() || event_.more) return 0;
  wall_time_ = event_.wall_time;
  was_header_ = event_.session_start;
  if (event_.has_file_version || event_.writer.length > 0) return 0;
  for (const ValueRef& value : event_.values) {
    if (!untagged_name(value.field).empty() || value.tag.length > kLargeRecord) return 0;
    const uint8_t* name = source.at(value.tag.offset, static_cast<size_t>(value.tag.length));
    if (!name) return 0;
    const TagStates* found =
        states_.find({reinterpret_cast<const char*>(name), static_cast<size_t>(value.tag.length)});
    if (!found || found->all.size() != 1 || !found->all.front()->rule->drop) return 0;
  }
  return event_.values.size();
}

}  // namespace tbq
