// images, audio and texts: the encoded bytes as they are, with what their first bytes say.
#include <charconv>

#include "tables/expand.hpp"

namespace tbq {
namespace {

enum ImageFormat : int32_t { kPng, kJpeg, kGif, kBmp, kWebp, kTiff, kUnknownFormat };

struct ImageHead {
  int32_t format = kUnknownFormat;
  int64_t width = -1;  // as the file itself says, -1 where it does not say
  int64_t height = -1;
};

uint32_t big32(const uint8_t* at) {
  return static_cast<uint32_t>(at[0]) << 24 | static_cast<uint32_t>(at[1]) << 16 |
         static_cast<uint32_t>(at[2]) << 8 | at[3];
}
uint32_t big16(const uint8_t* at) { return static_cast<uint32_t>(at[0]) << 8 | at[1]; }

bool starts(Bytes bytes, std::string_view with, size_t at = 0) {
  return bytes.size() >= at + with.size() && as_text(bytes.subspan(at, with.size())) == with;
}

// The size of a JPEG is in its first frame header, behind any number of other segments.
void jpeg_size(Bytes bytes, ImageHead& head) {
  size_t at = 2;
  while (bytes.size() - at >= 4) {
    const uint8_t* segment = bytes.data() + at;
    if (segment[0] != 0xff) return;
    const uint8_t marker = segment[1];
    if (marker == 0xff) {
      ++at;
      continue;
    }
    const size_t length = big16(segment + 2);
    const bool frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (frame) {
      if (bytes.size() - at < 9) return;
      head.height = big16(segment + 5);
      head.width = big16(segment + 7);
      return;
    }
    if (length < 2 || length > bytes.size() - at - 2) return;
    at += 2 + length;
  }
}

void webp_size(Bytes bytes, ImageHead& head) {
  const uint8_t* at = bytes.data();
  if (starts(bytes, "VP8X", 12) && bytes.size() >= 30) {
    head.width = 1 + (at[24] | at[25] << 8 | at[26] << 16);
    head.height = 1 + (at[27] | at[28] << 8 | at[29] << 16);
  } else if (starts(bytes, "VP8L", 12) && bytes.size() >= 25) {
    const auto bits = load_le<uint32_t>(at + 21);
    head.width = 1 + (bits & 0x3fff);
    head.height = 1 + (bits >> 14 & 0x3fff);
  } else if (starts(bytes, "VP8 ", 12) && bytes.size() >= 30) {
    head.width = load_le<uint16_t>(at + 26) & 0x3fff;
    head.height = load_le<uint16_t>(at + 28) & 0x3fff;
  }
}

ImageHead image_head(Bytes bytes) {
  ImageHead head;
  const uint8_t* at = bytes.data();
  if (starts(bytes, "\x89PNG\r\n\x1a\n")) {
    head.format = kPng;
    if (bytes.size() >= 24) {
      head.width = big32(at + 16);
      head.height = big32(at + 20);
    }
  } else if (starts(bytes, "\xff\xd8\xff")) {
    head.format = kJpeg;
    jpeg_size(bytes, head);
  } else if (starts(bytes, "GIF87a") || starts(bytes, "GIF89a")) {
    head.format = kGif;
    if (bytes.size() >= 10) {
      head.width = load_le<uint16_t>(at + 6);
      head.height = load_le<uint16_t>(at + 8);
    }
  } else if (starts(bytes, "BM") && bytes.size() >= 26) {
    head.format = kBmp;
    head.width = load_le<int32_t>(at + 18);
    const int64_t height = load_le<int32_t>(at + 22);
    head.height = height < 0 ? -height : height;  // negative: its rows go downwards
  } else if (starts(bytes, "RIFF") && starts(bytes, "WEBP", 8)) {
    head.format = kWebp;
    webp_size(bytes, head);
  } else if (starts(bytes, std::string_view("II*\0", 4)) || starts(bytes, std::string_view("MM\0*", 4))) {
    head.format = kTiff;
  }
  return head;
}

// A row an encoded file: a message of its own (v1), or some of the strings of a tensor (v2).
class Encoded : public Expander {
 public:
  Encoded(ValueProblems& problems, Form old) : Expander(problems), old_(old) {}
  void append(const Value& value) final {
    if (value.row->form == old_) {
      append_v1(value);
    } else {
      append_v2(value);
    }
  }
  void reserve(uint64_t bytes, uint64_t values) final {
    reserve_keys(bytes, values);
    data_.data().reserve(static_cast<size_t>(bytes));
  }

 protected:
  virtual void append_v1(const Value& value) = 0;
  virtual void append_v2(const Value& value) = 0;

  template <class T>
  static void put(FixedBuilder<T>& column, T number, bool known) {
    if (known) {
      column.append(number);
    } else {
      column.append_null();
    }
  }

  FixedBuilder<int64_t> index_;
  BytesBuilder data_{"Z"};
  RepeatBudget budget_;
  std::vector<Bytes> texts_;

 private:
  const Form old_;
};

class Images final : public Encoded {
 public:
  explicit Images(ValueProblems& problems) : Encoded(problems, Form::image) {}
  void finish(Batch& batch) override {
    batch.columns.push_back(index_.finish("index"));
    batch.columns.push_back(width_.finish("width"));
    batch.columns.push_back(height_.finish("height"));
    batch.columns.push_back(format_.finish("format"));
    batch.columns.push_back(colorspace_.finish("colorspace"));
    batch.columns.push_back(data_.finish("data"));
  }

 private:
  void append_v1(const Value& value) override {
    int64_t height = -1, width = -1, colorspace = -1;
    Bytes encoded;
    Cursor cursor(value.payload);
    Field field;
    while (!cursor.empty()) {
      if (!cursor.field(field)) return refuse(value, "the image's protobuf cannot be read");
      if (field.is(1, Wire::varint)) height = field.as_int64();
      if (field.is(2, Wire::varint)) width = field.as_int64();
      if (field.is(3, Wire::varint)) colorspace = field.as_int64();
      if (field.is(4, Wire::bytes)) encoded = field.bytes;
    }
    push(value, 0, width, height, colorspace, encoded);
  }

  // [width, height, image, image, …]
  void append_v2(const Value& value) override {
    if (value.row->form != Form::tensor) return refuse(value, "an image without a value");
    const TensorError error = copy_strings(read_tensor(value.payload), budget_, texts_);
    if (error != TensorError::none) return refuse(value, tensor_error_text(error));
    if (texts_.size() < 2) return refuse(value, "an image's tensor must hold width, height and images");
    const int64_t width = number(texts_[0]);
    const int64_t height = number(texts_[1]);
    for (size_t i = 2; i < texts_.size(); ++i)
      push(value, static_cast<int64_t>(i) - 2, width, height, -1, texts_[i]);
  }

  static int64_t number(Bytes text) {
    int64_t value = -1;
    const std::string_view digits = as_text(text);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return read.ec == std::errc() && read.ptr == digits.data() + digits.size() ? value : -1;
  }

  void push(const Value& value, int64_t index, int64_t width, int64_t height, int64_t colorspace,
            Bytes encoded) {
    const ImageHead head = image_head(encoded);
    add_keys(value);
    index_.append(index);
    if (width <= 0) width = head.width;
    if (height <= 0) height = head.height;
    put(width_, width, width >= 0);
    put(height_, height, height >= 0);
    put(colorspace_, colorspace, colorspace >= 0);
    if (wants("data")) data_.append(as_text(encoded));
    if (head.format == kUnknownFormat) {
      format_.append_null();
      report(value, "bad_image", "the image is of no known format (PNG, JPEG, GIF, BMP, WebP, TIFF)");
    } else {
      format_.append(head.format);
    }
  }

  void refuse(const Value& value, const char* why) {
    report(value, "bad_image", why);
    add_keys(value);
    index_.append_null();
    width_.append_null();
    height_.append_null();
    colorspace_.append_null();
    format_.append_null();
    if (wants("data")) data_.append(as_text(value.payload));
  }

  FixedBuilder<int64_t> width_, height_, colorspace_;
  LabelBuilder format_{dictionary_of({"png", "jpeg", "gif", "bmp", "webp", "tiff"})};
};

// ---- audio
// ----------------------------------------------------------------------------------------------------

struct WavHead {
  bool valid = false;
  double sample_rate = 0;
  int64_t channels = 0;
  int64_t frames = 0;
};

// `length` is that of the whole clip, of which `bytes` may be only the beginning.
WavHead wav_head(Bytes bytes) {
  WavHead head;
  if (!starts(bytes, "RIFF") || !starts(bytes, "WAVE", 8)) return head;
  uint32_t block = 0;
  for (size_t at = 12; bytes.size() - at >= 8;) {
    const Bytes chunk = bytes.subspan(at);
    const uint64_t size = load_le<uint32_t>(chunk.data() + 4);
    const uint64_t there = std::min<uint64_t>(size, bytes.size() - at - 8);
    if (starts(chunk, "fmt ") && there >= 16 && chunk.size() >= 24) {
      head.channels = load_le<uint16_t>(chunk.data() + 10);
      head.sample_rate = load_le<uint32_t>(chunk.data() + 12);
      block = load_le<uint16_t>(chunk.data() + 20);
    } else if (starts(chunk, "data")) {
      head.valid = block > 0 && head.channels > 0;
      head.frames = block > 0 ? static_cast<int64_t>(there / block) : 0;
      return head;
    }
    const uint64_t whole = 8 + size + (size & 1);
    if (whole > chunk.size()) return head;
    at += static_cast<size_t>(whole);
  }
  return head;
}

const char* audio_type(Bytes bytes) {
  if (starts(bytes, "RIFF") && starts(bytes, "WAVE", 8)) return "audio/wav";
  if (starts(bytes, "OggS")) return "audio/ogg";
  if (starts(bytes, "fLaC")) return "audio/flac";
  if (starts(bytes, "ID3") || starts(bytes, "\xff\xfb")) return "audio/mpeg";
  return nullptr;
}

class Audio final : public Encoded {
 public:
  explicit Audio(ValueProblems& problems) : Encoded(problems, Form::audio) {}
  void finish(Batch& batch) override {
    batch.columns.push_back(index_.finish("index"));
    batch.columns.push_back(sample_rate_.finish("sample_rate"));
    batch.columns.push_back(channels_.finish("channels"));
    batch.columns.push_back(frames_.finish("frames"));
    batch.columns.push_back(content_type_.finish("content_type"));
    batch.columns.push_back(label_.finish("label"));
    batch.columns.push_back(data_.finish("data"));
  }

 private:
  void append_v1(const Value& value) override {
    double rate = 0;
    int64_t channels = 0, frames = 0;
    Bytes encoded;
    std::string_view type;
    Cursor cursor(value.payload);
    Field field;
    while (!cursor.empty()) {
      if (!cursor.field(field)) return refuse(value, "the audio's protobuf cannot be read");
      if (field.is(1, Wire::fixed32)) rate = field.as_float();
      if (field.is(2, Wire::varint)) channels = field.as_int64();
      if (field.is(3, Wire::varint)) frames = field.as_int64();
      if (field.is(4, Wire::bytes)) encoded = field.bytes;
      if (field.is(5, Wire::bytes)) type = as_text(field.bytes);
    }
    push(value, 0, rate, channels, frames, type, nullptr, encoded);
  }

  // [k, 2] of (encoded, label), or [k] of encoded.
  void append_v2(const Value& value) override {
    if (value.row->form != Form::tensor) return refuse(value, "an audio clip without a value");
    const TensorView tensor = read_tensor(value.payload);
    const TensorError error = copy_strings(tensor, budget_, texts_);
    if (error != TensorError::none) return refuse(value, tensor_error_text(error));
    const bool labelled = tensor.rank == 2 && tensor.dims[1] == 2;
    if (!labelled && tensor.rank != 1 && !(tensor.rank == 2 && tensor.dims[1] == 1)) {
      return refuse(value, "an audio tensor must have the shape [k, 2]");
    }
    const size_t stride = labelled ? 2 : 1;
    for (size_t i = 0; i < texts_.size(); i += stride) {
      push(value, static_cast<int64_t>(i / stride), 0, 0, 0, {}, labelled ? &texts_[i + 1] : nullptr,
           texts_[i]);
    }
  }

  void push(const Value& value, int64_t index, double rate, int64_t channels, int64_t frames,
            std::string_view type, const Bytes* label, Bytes encoded) {
    add_keys(value);
    index_.append(index);
    const char* seen = audio_type(encoded);
    if (type.empty() && seen) type = seen;
    const WavHead wav = wav_head(encoded);
    if (!wav.valid && (type == "audio/wav" || type.empty())) {
      report(value, "bad_audio", "the audio clip is no WAV file that can be read");
    }
    put(sample_rate_, rate != 0 ? rate : wav.sample_rate, wav.valid || rate != 0);
    put(channels_, channels != 0 ? channels : wav.channels, wav.valid || channels != 0);
    put(frames_, frames != 0 ? frames : wav.frames, wav.valid || frames != 0);
    append_text_or_null(content_type_, valid_utf8(type));
    if (label) {
      append_text(label_, utf8(value, as_text(*label)));
    } else {
      label_.append_null();
    }
    if (wants("data")) data_.append(as_text(encoded));
  }

  void refuse(const Value& value, const char* why) {
    report(value, "bad_audio", why);
    add_keys(value);
    index_.append_null();
    sample_rate_.append_null();
    channels_.append_null();
    frames_.append_null();
    content_type_.append_null();
    label_.append_null();
    if (wants("data")) data_.append(as_text(value.payload));
  }

  FixedBuilder<int64_t> channels_, frames_;
  FixedBuilder<double> sample_rate_;
  TextBuilder content_type_, label_;
};

// ---- texts
// ----------------------------------------------------------------------------------------------------

class Texts final : public Expander {
 public:
  using Expander::Expander;
  void append(const Value& value) override {
    if (value.row->form != Form::tensor) return refuse(value, "a text without a value");
    const TensorView tensor = read_tensor(value.payload);
    const TensorError error = copy_strings(tensor, budget_, texts_);
    if (error != TensorError::none) return refuse(value, tensor_error_text(error));
    // Many dimensions times many texts are far more than the file holds.
    const uint64_t indices = tensor.rank * texts_.size() * sizeof(int64_t);
    if (indices > kLargestRepeat && indices > 32 * value.row->payload_length) {
      return refuse(value, "a text tensor of too many dimensions");
    }
    add_keys(value, texts_.size());
    int64_t place[kMaxRank] = {};
    for (const Bytes& text : texts_) {
      index_.values().append(place, tensor.rank);
      index_.close();
      if (wants("text")) append_text(text_, utf8(value, as_text(text)));
      for (size_t i = tensor.rank; i-- > 0;) {
        if (++place[i] < tensor.dims[i]) break;
        place[i] = 0;
      }
    }
  }
  void finish(Batch& batch) override {
    batch.columns.push_back(index_.finish("index"));
    batch.columns.push_back(text_.finish("text"));
  }

 private:
  void refuse(const Value& value, const char* why) {
    report(value, "bad_text", why);
    add_keys(value);
    index_.append_null();
    if (wants("text")) text_.append_null();
  }

  ListBuilder<int64_t> index_;
  TextBuilder text_;
  RepeatBudget budget_;
  std::vector<Bytes> texts_;
};

}  // namespace

std::unique_ptr<Expander> make_images(ValueProblems& problems) { return std::make_unique<Images>(problems); }
std::unique_ptr<Expander> make_audio(ValueProblems& problems) { return std::make_unique<Audio>(problems); }
std::unique_ptr<Expander> make_texts(ValueProblems& problems) { return std::make_unique<Texts>(problems); }

}  // namespace tbq
