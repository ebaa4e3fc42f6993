// A small language of event files: a few bytes become a record of any kind, a session, a repetition or
// damage, so that short inputs reach what only long files with sound checksums reach otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace script {

// What an event holds; the order is part of the corpus.
enum class Form : uint8_t {
  simple_scalar,
  float_scalar,    // a tensor, with metadata
  bare_scalar,     // a tensor without metadata
  integer_scalar,  // int64, beyond what float64 holds for some sizes
  old_histogram,   // HistogramProto
  histogram,       // [k, 3] float64, with metadata
  bare_histogram,  // without metadata
  old_image,
  image,
  old_audio,
  audio,
  text,
  bare_text,
  session_start_info,
  experiment,
  session_end_info,
  pr_curve,
  mesh,
  graph_def,
  meta_graph_def,
  run_metadata,
  log_message,
  session_log,  // START
  custom_scalars,
  unknown_plugin,
  legacy_histogram,  // a field that only very old writers used
  tensor,            // plain, without metadata
  image_and_scalar,  // two values in one event
  only_metadata,     // a value that is only announced
  writer,            // source_metadata
  two_scalars,
  malformed,
  count,
};

// Filler bytes that an event of size class `size` (0 to 31) holds: from none to past kLargeRecord.
size_t filler(uint8_t size);

// The event file that an input describes; at most about kLargestFile bytes, and kMostEvents by the words
// below. Small, for what goes wrong in a long file goes wrong in a short one, which is read a few thousand
// times a second.
std::string file_of(const uint8_t* data, size_t size);
// The same without the bits that flip() flips; `flips` is how many those are.
std::string unflipped_file_of(const uint8_t* data, size_t size, size_t& flips);
constexpr size_t kLargestFile = 6000;
constexpr size_t kMostEvents = 24;

// The words of the language, for seeds.
std::string event(Form form, uint8_t tag, int8_t step, uint8_t wall, uint8_t size = 0);
std::string repeat(uint8_t times);  // the last event 1 to 32 times more, a step and a second later each
std::string record(std::string_view payload);
std::string raw(std::string_view bytes);
std::string flip(uint16_t back, uint8_t bit);  // a bit of what stands there so far, counted from its end
std::string cut(uint8_t bytes);                // the last bytes gone
std::string session(uint8_t wall);
std::string zeros(uint8_t size);

}  // namespace script
