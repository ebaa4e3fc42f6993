// Builds the scripts of event files that serve as seeds.
#include "fuzz/logs.hpp"

#include "fuzz/script.hpp"
#include "tests/bytes.hpp"

std::vector<std::string> log_scripts() {
  using namespace script;
  std::vector<std::string> all;
  const std::string start = session(1);
  // Every kind: once, more than 16 times (then histograms become columns), and larger than 4 KiB.
  for (uint8_t form = 0; form < static_cast<uint8_t>(Form::count); ++form) {
    const auto of = [&](uint8_t size) { return event(static_cast<Form>(form), 0, 1, 1, size); };
    all.push_back(start + of(13) + of(5));
    all.push_back(start + of(12) + repeat(19));
    all.push_back(start + of(29) + repeat(3) + flip(3000, 1) + of(2));
  }
  const auto scalar = [](int8_t step, uint8_t wall) { return event(Form::simple_scalar, 0, step, wall); };
  // Sessions: a restart, an overlapping session, SessionLog.START.
  all.push_back(start + scalar(1, 1) + repeat(9) + session(3) + scalar(5, 3) + repeat(6));
  all.push_back(start + scalar(1, 1) + repeat(9) + event(Form::simple_scalar, 0, 20, 9) + session(3) +
                scalar(5, 3) + repeat(6));
  all.push_back(start + scalar(1, 1) + repeat(9) + session(3) + event(Form::session_log, 0, 4, 3) +
                scalar(6, 3));
  all.push_back(session(0) + scalar(1, 0) + session(0) + scalar(1, 0));
  // A large record with damaged time, step or pixels, between two sessions.
  for (const uint16_t back : {uint16_t{100}, uint16_t{5060}, uint16_t{5068}}) {
    all.push_back(start + scalar(1, 1) + repeat(5) + event(Form::old_image, 1, 9, 1, 30) + flip(back, 6) +
                  session(2) + scalar(3, 2) + repeat(4));
  }
  all.push_back(start + event(Form::image, 0, 1, 1, 30) + repeat(4) + event(Form::image, 0, 9, 1, 30) +
                flip(5070, 3) + session(2) + event(Form::image, 0, 3, 2, 30) + repeat(2));
  all.push_back(start + event(Form::image_and_scalar, 0, 1, 1, 30) + flip(200, 2) + scalar(2, 1));
  // Damaged framing: zeros, a bad length, a torn record, a cut tail, garbage at the start.
  all.push_back(start + scalar(1, 1) + zeros(21) + scalar(2, 1));
  all.push_back(start + scalar(1, 1) + flip(40, 0) + scalar(2, 1) + repeat(3));
  all.push_back(start + scalar(1, 1) + repeat(3) + cut(20) + scalar(9, 1));
  all.push_back(start + scalar(1, 1) + repeat(3) + cut(7));
  all.push_back(raw("garbage before everything") + start + scalar(1, 1));
  all.push_back(raw(bytes::of(uint64_t{1} << 60)) + start + scalar(1, 1));
  all.push_back(start + event(Form::old_image, 0, 1, 1, 30) + cut(200) + scalar(2, 1));
  // Metadata that comes later than the values it describes.
  all.push_back(start + event(Form::bare_scalar, 0, 1, 1, 3) + repeat(3) +
                event(Form::float_scalar, 0, 7, 1, 3) + event(Form::bare_scalar, 0, 8, 1, 3));
  all.push_back(start + event(Form::bare_histogram, 0, 1, 1, 12) + repeat(18) +
                event(Form::histogram, 0, 30, 1, 12) + repeat(18));
  // Many tags, in turns.
  std::string turns = start;
  for (int8_t step = 0; step < 18; ++step) {
    turns += event(Form::histogram, 0, step, 1, 12);
    if (step % 3 == 0) turns += event(Form::simple_scalar, step % 2 == 0 ? 1 : 2, step, 1);
  }
  all.push_back(turns);
  // Payloads written out in full.
  all.push_back(record(bytes::version(1e9)) + record(bytes::scalar("loss", 1, 0.5F)) +
                record(bytes::scalar("loss", -1, 0.5F)));
  return all;
}
