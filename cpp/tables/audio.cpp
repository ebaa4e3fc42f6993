// The table `audio`: the encoded bytes unchanged, with the fields of the WAV header.
#include <algorithm>

#include "bytes/utf8.hpp"
#include "event/schema.hpp"
#include "tables/kinds.hpp"
#include "tables/tensor_columns.hpp"

namespace tbq {
namespace {

struct WavHead {
  bool valid = false;
  double sample_rate = 0;
  int64_t channels = 0;
  int64_t frames = 0;
};

WavHead wav_head(Bytes bytes) {
  WavHead head;
  if (!stands_at(bytes, "RIFF") || !stands_at(bytes, "WAVE", 8)) return head;
  uint32_t block = 0;
  for (size_t at = 12; bytes.size() - at >= 8;) {
    const Bytes chunk = bytes.subspan(at);
    const uint64_t size = load_le<uint32_t>(chunk.data() + 4);
    const uint64_t available = std::min<uint64_t>(size, bytes.size() - at - 8);
    if (stands_at(chunk, "fmt ") && available >= 16 && chunk.size() >= 24) {
      head.channels = load_le<uint16_t>(chunk.data() + 10);
      head.sample_rate = load_le<uint32_t>(chunk.data() + 12);
      block = load_le<uint16_t>(chunk.data() + 20);
    } else if (stands_at(chunk, "data")) {
      head.valid = block > 0 && head.channels > 0;
      head.frames = block > 0 ? static_cast<int64_t>(available / block) : 0;
      return head;
    }
    const uint64_t chunk_size = 8 + size + (size & 1);
    if (chunk_size > chunk.size()) return head;
    at += static_cast<size_t>(chunk_size);
  }
  return head;
}

const char* audio_type(Bytes bytes) {
  if (stands_at(bytes, "RIFF") && stands_at(bytes, "WAVE", 8)) return "audio/wav";
  if (stands_at(bytes, "OggS")) return "audio/ogg";
  if (stands_at(bytes, "fLaC")) return "audio/flac";
  if (stands_at(bytes, "ID3") || stands_at(bytes, "\xff\xfb")) return "audio/mpeg";
  return nullptr;
}

class Audio final : public Expander {
 public:
  using Expander::Expander;
  void append(const Value& value) override {
    value.row->field == ValueField::audio ? append_v1(value) : append_v2(value);
  }
  void reserve(uint64_t bytes, uint64_t values) override {
    reserve_keys(values);
    data_.data().reserve(static_cast<size_t>(bytes));
  }

 private:
  void append_v1(const Value& value) {
    double rate = 0;
    int64_t channels = 0, frames = 0;
    Bytes encoded;
    std::string_view type;
    const bool valid = each_field(value.payload, [&](const Field& field) {
      if (field.is(schema::Audio::sample_rate, Wire::fixed32)) rate = field.as_float();
      if (field.is(schema::Audio::channels, Wire::varint)) channels = field.as_int64();
      if (field.is(schema::Audio::frames, Wire::varint)) frames = field.as_int64();
      if (field.is(schema::Audio::encoded, Wire::bytes)) encoded = field.bytes;
      if (field.is(schema::Audio::content_type, Wire::bytes)) type = as_text(field.bytes);
    });
    if (!valid) return refuse(value, "the audio's protobuf cannot be read");
    push(value, 0, rate, channels, frames, type, nullptr, encoded);
  }

  // [k, 2] of (encoded, label), or [k] of encoded.
  void append_v2(const Value& value) {
    if (value.row->field != ValueField::tensor) return refuse(value, "an audio clip without a value");
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
      report(value, "bad_audio", "the audio clip is not a WAV file that can be read");
    }
    if (wav.valid || rate != 0) sample_rate_.append(rate != 0 ? rate : wav.sample_rate);
    if (wav.valid || channels != 0) channels_.append(channels != 0 ? channels : wav.channels);
    if (wav.valid || frames != 0) frames_.append(frames != 0 ? frames : wav.frames);
    content_type_.append_or_null(valid_utf8(type));
    if (label) label_.append(utf8(value, as_text(*label)));
    if (wants("data")) data_.append(as_text(encoded));
  }

  void refuse(const Value& value, const char* why) {
    report(value, "bad_audio", why);
    add_keys(value);
    if (wants("data")) data_.append(as_text(value.payload));
  }

  IntegerColumn index_{*this, "index"};
  NumberColumn sample_rate_{*this, "sample_rate"};
  IntegerColumn channels_{*this, "channels"};
  IntegerColumn frames_{*this, "frames"};
  StringColumn content_type_{*this, "content_type"};
  StringColumn label_{*this, "label"};
  BytesColumn data_{*this, "data", "Z"};
  std::vector<Bytes> texts_;
};

}  // namespace

std::unique_ptr<Expander> make_audio(ValueProblems& problems) { return std::make_unique<Audio>(problems); }

}  // namespace tbq
