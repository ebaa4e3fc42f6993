// Interprets scripts and builds the events that they name.
#include "fuzz/script.hpp"

#include <algorithm>
#include <iterator>

#include "tests/bytes.hpp"

namespace script {
namespace {

using namespace bytes;

enum Word : uint8_t { kEvent, kEventToo, kRepeat, kRecord, kRaw, kFlip, kCut, kMark };
constexpr uint8_t kWords = 8;

constexpr size_t kFillers[32] = {0,   1,    2,    3,    4,    8,    12,   16,   24,   31,  32,
                                 48,  64,   100,  127,  128,  200,  255,  256,  300,  400, 500,
                                 800, 1000, 2000, 4000, 4080, 4096, 4097, 4200, 5000, 9000};

std::string filling(size_t size) {
  std::string out(size, '\0');
  for (size_t i = 0; i < size; ++i)
    out[i] = static_cast<char>(i % 97 == 96 ? 128 + size % 64 : 32 + (i * 7 + size) % 90);
  return out;
}
std::string doubles(size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += of(static_cast<double>(i % 64) / 4 - 2);
  return out;
}
std::string shape(std::initializer_list<uint64_t> sizes) {
  std::string out;
  for (const uint64_t size : sizes) out += message(2, number(1, size));
  return message(2, out);
}
std::string strings(std::initializer_list<std::string> texts) {
  std::string out = number(1, 7) + shape({texts.size()});
  for (const std::string& text : texts) out += message(8, text);
  return out;
}
std::string plugin(std::string_view name, std::string_view content = {}) {
  return message(9, message(1, message(1, name) + (content.empty() ? "" : message(2, content))));
}
std::string histogram_tensor(size_t size) {
  const size_t rows = size / 24 + 1;
  return number(1, 2) + shape({rows, 3}) + message(4, doubles(rows * 3));
}
std::string hparams(uint8_t which, const std::string& held) {
  return plugin("hparams", number(1, 0) + message(which, held));
}
std::string png(size_t size) {
  return std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x07\0\0\0\x05", 24) + filling(size);
}
std::string wav(size_t size) {
  return "RIFF____WAVEfmt " + of(uint32_t{16}) + of(uint16_t{1}) + of(uint16_t{1}) + of(uint32_t{8000}) +
         of(uint32_t{16000}) + of(uint16_t{2}) + of(uint16_t{16}) + "data" + of(static_cast<uint32_t>(size)) +
         filling(size);
}
// google.protobuf.Value of a number, a text, a list.
std::string held(double value) { return fixed(2, value); }
std::string held(const std::string& text) { return message(3, text); }
std::string entry(const std::string& name, const std::string& value) {
  return message(1, message(1, name) + message(2, value));
}
std::string graph(size_t size) {
  const std::string node = message(1, "x") + message(2, "Add") + message(3, "y") + message(4, "/cpu:0") +
                           message(5, filling(size));
  return message(1, node) + message(2, message(1, message(1, message(1, "f")) + message(3, node)));
}

// The fields of an Event except its time and step.
std::string content(Form form, const std::string& tag, size_t size) {
  const auto value = [&](const std::string& rest) { return summary(message(1, tag) + rest); };
  const std::string fill = filling(size);
  switch (form) {
    case Form::simple_scalar:
      return value(fixed(2, static_cast<float>(size) / 8));
    case Form::float_scalar:
      return value(message(8, tensor(1, of(static_cast<float>(size) / 8))) + metadata("scalars"));
    case Form::bare_scalar:
      return value(message(8, tensor(2, of(static_cast<double>(size) / 8))));
    case Form::integer_scalar:
      return value(message(8, number(1, 9) + message(2, "") + number(10, (uint64_t{1} << 60) + size)) +
                   metadata("scalars"));
    case Form::old_histogram: {
      const size_t count = size / 16 + 1;
      return value(message(5, fixed(1, 0.0) + fixed(2, 1.0) + fixed(3, 4.0) + message(6, doubles(count)) +
                                  message(7, doubles(count))));
    }
    case Form::histogram:
      return value(message(8, histogram_tensor(size)) + metadata("histograms"));
    case Form::bare_histogram:
      return value(message(8, histogram_tensor(size)));
    case Form::old_image:
      return value(message(4, number(1, 5) + number(2, 7) + number(3, 3) + message(4, png(size))));
    case Form::image:
      return value(message(8, strings({"7", "5", png(size)})) + metadata("images"));
    case Form::old_audio:
      return value(
          message(6, fixed(1, 8000.0F) + number(2, 1) + message(4, wav(size)) + message(5, "audio/wav")));
    case Form::audio:
      return value(message(8, strings({wav(size)})) + metadata("audio"));
    case Form::text:
      return value(message(8, strings({"text", fill})) + metadata("text"));
    case Form::bare_text:
      return value(message(8, strings({fill})));
    case Form::session_start_info:
      return value(hparams(3, entry("lr", held(0.5)) + entry("name", held(fill)) +
                                  entry("list", message(6, message(1, held(0.25)) + message(1, held("s")))) +
                                  message(4, "group")));
    case Form::experiment:
      return value(hparams(2, message(4, message(1, "lr") + message(3, fill) + number(4, 3)) +
                                  message(5, message(1, message(1, "g") + message(2, "loss")))));
    case Form::session_end_info:
      return value(hparams(4, number(1, 1)));
    case Form::pr_curve: {
      const size_t count = size / 48 + 1;
      return value(message(8, number(1, 2) + shape({6, count}) + message(4, doubles(6 * count))) +
                   metadata("pr_curves"));
    }
    case Form::mesh:
      return value(message(8, number(1, 1) + shape({1, size / 12, 3}) + message(4, filling(size / 12 * 12))) +
                   plugin("mesh", message(2, "m") + number(3, 1)));
    case Form::graph_def:
      return message(4, graph(size));
    case Form::meta_graph_def:
      return message(9, message(2, graph(size)));
    case Form::run_metadata:
      return message(8, message(1, tag) + message(2, fill));
    case Form::log_message:
      return message(6, number(1, 20) + message(2, fill));
    case Form::session_log:
      return message(7, number(1, 1) + (size > 0 ? message(3, fill) : ""));
    case Form::custom_scalars:
      return value(
          message(8, strings({message(
                         2, message(1, "c") + message(2, message(1, fill) + message(2, message(1, "a"))))})) +
          metadata("custom_scalars"));
    case Form::unknown_plugin:
      return value(message(8, tensor(4, fill)) + plugin("mine", fill));
    case Form::legacy_histogram:
      return value(message(3, fill));
    case Form::tensor:
      return value(message(8, number(1, 4) + shape({size}) + message(4, fill)));
    case Form::image_and_scalar:
      return message(5, message(1, message(1, tag) + message(4, message(4, png(size)))) +
                            message(1, message(1, "beside") + fixed(2, 0.5F)));
    case Form::only_metadata:
      return value(metadata(size % 2 == 0 ? "scalars" : "histograms"));
    case Form::writer:
      return message(10, message(1, "w" + fill));
    case Form::two_scalars:
      return message(5, message(1, message(1, tag) + fixed(2, 0.5F)) +
                            message(1, message(1, "beside") + fixed(2, static_cast<float>(size))));
    case Form::malformed:
      return value(fixed(2, 0.5F)) + "\x2a\xff" + fill;
    case Form::count:
      break;
  }
  return {};
}

// Builds each content once.
const std::string& content_of(Form form, uint8_t tag, uint8_t size) {
  constexpr size_t kForms = static_cast<size_t>(Form::count);
  static std::string known[kForms][4][std::size(kFillers)];
  std::string& held = known[static_cast<size_t>(form)][tag][size % std::size(kFillers)];
  if (held.empty()) held = content(form, std::string(1, static_cast<char>('a' + tag)), filler(size));
  return held;
}

double wall_of(uint8_t wall) { return wall == 0 ? 0 : 1e9 + 100.0 * wall; }

class Interpreter {
 public:
  Interpreter(const uint8_t* data, size_t size, bool flipping = true)
      : at_(data), end_(data + size), flipping_(flipping) {}

  std::string run() {
    while (at_ < end_ && !full()) word();
    return std::move(out_);
  }
  size_t flips() const { return flips_; }

 private:
  bool full() const { return out_.size() >= kLargestFile || events_ >= kMostEvents; }
  uint8_t byte() { return at_ < end_ ? *at_++ : uint8_t{0}; }
  std::string bytes(size_t count) {
    count = std::min(count, static_cast<size_t>(end_ - at_));
    std::string front(reinterpret_cast<const char*>(at_), count);
    at_ += count;
    return front;
  }

  void word() {
    const uint8_t first = byte();
    const auto argument = static_cast<uint8_t>(first / kWords);
    switch (first % kWords) {
      case kEvent:
      case kEventToo:
        event_ = static_cast<Form>(byte() % static_cast<uint8_t>(Form::count));
        tag_ = byte() % 4;
        step_ = static_cast<int8_t>(byte());
        wall_ = wall_of(byte());
        size_ = argument;
        add();
        break;
      case kRepeat:
        for (size_t i = 0; i <= argument && !full(); ++i) {
          ++step_;
          wall_ += 1;
          add();
        }
        break;
      case kRecord:
        out_ += ::bytes::record(bytes(byte() + (argument << 8)));
        break;
      case kRaw:
        out_ += bytes(byte() + (argument << 8));
        break;
      case kFlip: {
        const size_t back = 1 + size_t{byte()} + (size_t{byte()} << 8);
        if (back <= out_.size() && ++flips_ > 0 && flipping_) {
          char& hit = out_[out_.size() - back];
          hit = static_cast<char>(hit ^ 1 << argument % 8);
        }
        break;
      }
      case kCut:
        out_.resize(out_.size() - std::min<size_t>(out_.size(), byte()));
        break;
      case kMark:
        if (argument % 2 == 0) {
          wall_ = wall_of(byte());
          out_ += ::bytes::record(version(wall_));
        } else {
          out_.append(filler(byte() % 32), '\0');
        }
        break;
      default:
        break;
    }
  }

  void add() {
    ++events_;
    const std::string& rest = content_of(event_, tag_, size_);
    const std::string head = ::bytes::event(wall_, step_, {});
    const size_t begin = out_.size();
    out_ += ::bytes::of(static_cast<uint64_t>(head.size() + rest.size()));
    out_ += ::bytes::of(masked(begin));
    out_ += head;
    out_ += rest;
    out_ += ::bytes::of(masked(begin + 12));
  }

  // The checksum of everything from `from` on.
  uint32_t masked(size_t from) const {
    const auto* data = reinterpret_cast<const uint8_t*>(out_.data());
    return tbq::crc_mask(tbq::crc32c(0, data + from, out_.size() - from));
  }

  const uint8_t* at_;
  const uint8_t* end_;
  bool flipping_;
  size_t flips_ = 0;
  std::string out_;
  size_t events_ = 0;
  Form event_ = Form::simple_scalar;
  uint8_t tag_ = 0;
  int64_t step_ = 0;
  double wall_ = 1e9;
  uint8_t size_ = 0;
};

std::string word(Word word, uint8_t argument) {
  return std::string(1, static_cast<char>(word + argument * kWords));
}
std::string counted(Word first, std::string_view held) {
  return word(first, static_cast<uint8_t>(held.size() >> 8)) + static_cast<char>(held.size() & 0xff) +
         std::string(held);
}

}  // namespace

size_t filler(uint8_t size) { return kFillers[size % std::size(kFillers)]; }

std::string file_of(const uint8_t* data, size_t size) { return Interpreter(data, size).run(); }

std::string unflipped_file_of(const uint8_t* data, size_t size, size_t& flips) {
  Interpreter interpreter(data, size, false);
  std::string file = interpreter.run();
  flips = interpreter.flips();
  return file;
}

std::string event(Form form, uint8_t tag, int8_t step, uint8_t wall, uint8_t size) {
  return word(kEvent, size) + static_cast<char>(form) + static_cast<char>(tag) + static_cast<char>(step) +
         static_cast<char>(wall);
}
std::string repeat(uint8_t times) { return word(kRepeat, static_cast<uint8_t>(times - 1)); }
std::string record(std::string_view payload) { return counted(kRecord, payload); }
std::string raw(std::string_view held) { return counted(kRaw, held); }
std::string flip(uint16_t back, uint8_t bit) {
  return word(kFlip, bit) + static_cast<char>((back - 1) & 0xff) + static_cast<char>((back - 1) >> 8);
}
std::string cut(uint8_t count) { return word(kCut, 0) + static_cast<char>(count); }
std::string session(uint8_t wall) { return word(kMark, 0) + static_cast<char>(wall); }
std::string zeros(uint8_t size) { return word(kMark, 1) + static_cast<char>(size); }

}  // namespace script
