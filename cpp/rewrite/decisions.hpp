// Decides for each record of a run whether it is copied, dropped or edited, by the rules of its values'
// series.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "event/edit.hpp"
#include "event/event.hpp"
#include "event/tag_predictor.hpp"
#include "rewrite/series_rules.hpp"

namespace tbq {

enum class Decision { keep, drop, edit };

// `max_points` takes three passes over a run: count the values, pick some, write them.
enum class Pass { count, pick, write };

class Decisions {
 public:
  Decisions(const Result& survey, uint32_t run, const std::vector<SeriesRule>& rules,
            const RewriteOptions& options);

  // Nothing changes at all: records need not be parsed.
  bool verbatim() const { return verbatim_; }

  // Begins a pass over all sessions; dropped values are counted in `report`.
  void begin(Pass pass, RewriteReport& report);
  // The following events belong to this session of the survey.
  void enter(uint32_t session) { session_ = session; }

  // The decision for the event in `payload`; if it is edited, edited() is its new form until the next call.
  Decision of(Bytes payload);
  Bytes edited() const { return {reinterpret_cast<const uint8_t*>(edited_.data()), edited_.size()}; }
  // The wall time of the last event.
  double wall_time() const { return wall_time_; }
  // Whether the last event was a header of its session: a file_version or a SessionLog.START.
  bool was_header() const { return was_header_; }

  // The number of values in a large record, if the rules drop all of its content, so that it need not be
  // read; otherwise 0.
  size_t dropped_unread(FileSource& source);

 private:
  bool fast(Bytes payload, Decision& decision);
  Decision of_event(Bytes payload);
  TagStates* states_of(std::string_view tag);
  bool needs_metadata(const TagStates& tag, const ValueRef& value, Bytes payload) const;
  SeriesState* state_of(const ValueRef& value, Bytes payload);
  bool wanted(SeriesState& state, int64_t step, const ValueRef* value = nullptr, Bytes payload = {});

  const RewriteOptions& options_;
  RunStates states_;
  bool partial_ = false;  // a series may keep some values and drop others
  bool verbatim_ = false;
  Pass pass_ = Pass::write;
  uint32_t session_ = 0;
  double wall_time_ = 0;
  bool was_header_ = false;
  RewriteReport* report_ = nullptr;
  TagPredictor<TagStates> predictor_;
  EventRef event_;
  std::vector<ValueEdit> edits_;
  std::string edited_;
};

}  // namespace tbq
