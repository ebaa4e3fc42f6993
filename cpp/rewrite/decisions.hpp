// What happens to each record of a run: kept as it is, dropped, or edited, by the rules of its values'
// series.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "decode/tag_predictor.hpp"
#include "event/edit.hpp"
#include "event/event.hpp"
#include "rewrite/series_rules.hpp"

namespace tbq {

enum class Decision { keep, drop, edit };

// `max_points` takes three passes over a run: values are counted, then picked, then written.
enum class Pass { count, pick, write };

class Decisions {
 public:
  Decisions(const Result& survey, uint32_t run, const std::vector<SeriesRule>& rules,
            const RewriteOptions& options);

  // Nothing changes at all: records need not be looked into.
  bool verbatim() const { return verbatim_; }

  // A pass over all sessions begins; values that are left out are counted in `report`.
  void begin(Pass pass, RewriteReport& report);
  // What follows is of this session of the survey.
  void enter(uint32_t session) { session_ = session; }

  // What happens to the event in `payload`; if it is edited, edited() is its new form until the next call.
  Decision of(Bytes payload);
  Bytes edited() const { return {reinterpret_cast<const uint8_t*>(edited_.data()), edited_.size()}; }
  // The wall time of the event that was looked at last.
  double wall_time() const { return wall_time_; }
  // Whether it was a header of its session: a file_version or a SessionLog.START.
  bool was_header() const { return was_header_; }

  // How many values a large record holds, if all of it is values that their series' rules drop, so that it
  // need not be read; otherwise 0.
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
  bool partial_ = false;  // some values of a series may stay and others not
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
