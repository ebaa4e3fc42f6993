// How a run ended, by the marks that its writers left.
#pragma once

#include "decode/result.hpp"

namespace tbq {

enum class RunEnd : uint8_t { none, finished, failed };

inline const char* run_end_name(RunEnd end) {
  static constexpr const char* names[] = {"", "finished", "failed"};
  return names[static_cast<size_t>(end)];
}

// Collects the files of one run. An end counts only if the run's own files have nothing later:
// `add_hparams` writes one at once, even if it is called first.
class RunEnds {
 public:
  RunEnds() = default;
  RunEnds(const EndMark& end, const TimeSpan& times) : end_(end), times_(times) {}

  void add(const FileReport& file) {
    end_.merge(file.end);
    if (!file.is_below) times_.merge(file.times);
  }
  // Adds what was read later.
  void merge(const RunEnds& later) {
    end_.merge(later.end_);
    times_.merge(later.times_);
  }
  const EndMark& mark() const { return end_; }
  const TimeSpan& times() const { return times_; }  // of the run's own files
  RunEnd end() const {
    if (!end_.known || (times_.known && times_.end > end_.wall_time)) return RunEnd::none;
    return end_.failed ? RunEnd::failed : RunEnd::finished;
  }

 private:
  EndMark end_;
  TimeSpan times_;
};

}  // namespace tbq
