// A small language of event files. A few bytes become a record of any kind, a session, a repetition or
// damage, so that short inputs reach code that otherwise only long files with valid checksums reach.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace script {

// The content of an event; the corpus depends on this order.
enum class Form : uint8_t {
  simple_scalar,
  float_scalar,    // a tensor, with metadata
  bare_scalar,     // a tensor without metadata
  integer_scalar,  // int64; for some sizes, more than float64 can hold
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
  tensor,            // without metadata
  image_and_scalar,  // two values in one event
  only_metadata,     // a value that is only announced
  writer,            // source_metadata
  two_scalars,
  malformed,
  count,
};

// The filler bytes of an event of size class `size` (0 to 31): from none to more than kLargeRecord.
size_t filler(uint8_t size);

// The event file that an input describes, with at most about kLargestFile bytes and kMostEvents events. It is
// small because an error in a long file also shows in a short one, which can be read a few thousand times per
// second.
std::string file_of(const uint8_t* data, size_t size);
// The same file without the bits that flip() flips; `flips` is their number.
std::string unflipped_file_of(const uint8_t* data, size_t size, size_t& flips);
constexpr size_t kLargestFile = 6000;
constexpr size_t kMostEvents = 24;

// The words of the language, for seeds.
std::string event(Form form, uint8_t tag, int8_t step, uint8_t wall, uint8_t size = 0);
std::string repeat(uint8_t times);  // the last event, 1 to 32 times, each a step and a second later
std::string record(std::string_view payload);
std::string raw(std::string_view bytes);
std::string flip(uint16_t back, uint8_t bit);  // flips a bit of the file so far, counted from its end
std::string cut(uint8_t bytes);                // removes the last bytes
std::string session(uint8_t wall);
std::string zeros(uint8_t size);

}  // namespace script
