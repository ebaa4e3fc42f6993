// The table `images`: the encoded bytes unchanged, with the format and size from their first bytes.
#include <charconv>

#include "event/schema.hpp"
#include "tables/encoded.hpp"
#include "tables/image_head.hpp"

namespace tbq {
namespace {

class Images final : public Encoded {
 public:
  explicit Images(ValueProblems& problems) : Encoded(problems, ValueField::image) {}
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
      if (field.is(schema::Image::height, Wire::varint)) height = field.as_int64();
      if (field.is(schema::Image::width, Wire::varint)) width = field.as_int64();
      if (field.is(schema::Image::colorspace, Wire::varint)) colorspace = field.as_int64();
      if (field.is(schema::Image::encoded, Wire::bytes)) encoded = field.bytes;
    }
    push(value, 0, width, height, colorspace, encoded);
  }

  // [width, height, image, image, …]
  void append_v2(const Value& value) override {
    if (value.row->field != ValueField::tensor) return refuse(value, "an image without a value");
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
      report(value, "bad_image", "unknown image format (want PNG, JPEG, GIF, BMP, WebP or TIFF)");
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
  LabelBuilder format_{string_dictionary({"png", "jpeg", "gif", "bmp", "webp", "tiff"})};
};

}  // namespace

std::unique_ptr<Expander> make_images(ValueProblems& problems) { return std::make_unique<Images>(problems); }

}  // namespace tbq
