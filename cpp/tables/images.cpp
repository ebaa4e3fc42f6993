// The table `images`: the encoded bytes unchanged, with the format and size from their first bytes.
#include <charconv>

#include "event/schema.hpp"
#include "tables/image_head.hpp"
#include "tables/kinds.hpp"
#include "tables/tensor_columns.hpp"

namespace tbq {
namespace {

class Images final : public Expander {
 public:
  using Expander::Expander;
  void append(const Value& value) override {
    value.row->field == ValueField::image ? append_v1(value) : append_v2(value);
  }
  void reserve(uint64_t bytes, uint64_t values) override {
    reserve_keys(values);
    data_.data().reserve(static_cast<size_t>(bytes));
  }

 private:
  void append_v1(const Value& value) {
    int64_t height = -1, width = -1, colorspace = -1;
    Bytes encoded;
    const bool valid = each_field(value.payload, [&](const Field& field) {
      if (field.is(schema::Image::height, Wire::varint)) height = field.as_int64();
      if (field.is(schema::Image::width, Wire::varint)) width = field.as_int64();
      if (field.is(schema::Image::colorspace, Wire::varint)) colorspace = field.as_int64();
      if (field.is(schema::Image::encoded, Wire::bytes)) encoded = field.bytes;
    });
    if (!valid) return refuse(value, "the image's protobuf cannot be read");
    push(value, 0, width, height, colorspace, encoded);
  }

  // [width, height, image, image, …]
  void append_v2(const Value& value) {
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
    if (width >= 0) width_.append(width);
    if (height >= 0) height_.append(height);
    if (colorspace >= 0) colorspace_.append(colorspace);
    if (wants("data")) data_.append(as_text(encoded));
    if (head.format == kUnknownFormat) {
      report(value, "bad_image", "unknown image format (want PNG, JPEG, GIF, BMP, WebP or TIFF)");
    } else {
      format_.append(head.format);
    }
  }

  void refuse(const Value& value, const char* why) {
    report(value, "bad_image", why);
    add_keys(value);
    if (wants("data")) data_.append(as_text(value.payload));
  }

  IntegerColumn index_{*this, "index"};
  IntegerColumn width_{*this, "width"};
  IntegerColumn height_{*this, "height"};
  LabelColumn format_{*this, "format", string_dictionary({"png", "jpeg", "gif", "bmp", "webp", "tiff"})};
  IntegerColumn colorspace_{*this, "colorspace"};
  BytesColumn data_{*this, "data", "Z"};
  std::vector<Bytes> texts_;
};

}  // namespace

std::unique_ptr<Expander> make_images(ValueProblems& problems) { return std::make_unique<Images>(problems); }

}  // namespace tbq
