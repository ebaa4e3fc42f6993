// The table `custom_scalars`: the charts of a layout.
#include "event/schema.hpp"
#include "tables/kinds.hpp"
#include "tables/tensor_columns.hpp"

namespace tbq {
namespace {

enum ChartType : int32_t { kMultiline, kMarginValue, kMarginLower, kMarginUpper };

// One row per tag pattern of a chart. The first row of a layout carries its bytes.
class CustomScalars final : public Expander {
 public:
  using Expander::Expander;
  void append(const Value& value) override {
    Bytes layout;
    const TensorError error = wrapped_bytes(value, budget_, layout);
    const uint64_t before = rows();
    if (error == TensorError::none && walk_layout(value, layout)) {
      if (rows() == before) push(value, {}, {}, -1, {}, layout, before);
      return;
    }
    report(value, "bad_custom_scalars", "the layout cannot be read");
    if (rows() == before) push(value, {}, {}, -1, {}, layout, before);
  }

 private:
  template <class Each>
  static bool walk(Bytes message, Each&& each) {
    Cursor cursor(message);
    Field field;
    while (!cursor.empty()) {
      if (!cursor.field(field)) return false;
      if (field.wire == Wire::bytes && !each(field.number, field.bytes)) return false;
    }
    return true;
  }
  // The last field with that number.
  static std::string_view text_of(Bytes message, uint32_t number) {
    std::string_view text;
    walk(message, [&](uint32_t field, Bytes bytes) {
      if (field == number) text = as_text(bytes);
      return true;
    });
    return text;
  }

  bool walk_layout(const Value& value, Bytes layout) {
    const uint64_t first = rows();
    return walk(layout, [&](uint32_t number, Bytes category) {
      if (number != schema::Layout::category) return true;
      const std::string_view title = text_of(category, schema::LayoutCategory::title);
      return walk(category, [&](uint32_t inner, Bytes chart) {
        return inner != schema::LayoutCategory::chart || walk_chart(value, title, chart, layout, first);
      });
    });
  }

  bool walk_chart(const Value& value, std::string_view category, Bytes chart, Bytes layout, uint64_t first) {
    const std::string_view title = text_of(chart, schema::LayoutChart::title);
    return walk(chart, [&](uint32_t number, Bytes content) {
      if (number == schema::LayoutChart::multiline) {
        return walk(content, [&](uint32_t inner, Bytes tag) {
          if (inner == schema::MultilineChart::tag) {
            push(value, category, title, kMultiline, as_text(tag), layout, first);
          }
          return true;
        });
      }
      if (number != schema::LayoutChart::margin) return true;
      return walk(content, [&](uint32_t inner, Bytes series) {
        return inner != schema::MarginChart::series || walk(series, [&](uint32_t which, Bytes tag) {
                 int32_t type = -1;
                 if (which == schema::MarginSeries::value) type = kMarginValue;
                 if (which == schema::MarginSeries::lower) type = kMarginLower;
                 if (which == schema::MarginSeries::upper) type = kMarginUpper;
                 if (type >= 0) push(value, category, title, type, as_text(tag), layout, first);
                 return true;
               });
      });
    });
  }

  void push(const Value& value, std::string_view category, std::string_view chart, int32_t type,
            std::string_view pattern, Bytes layout, uint64_t first) {
    const bool leads = rows() == first;
    add_keys(value);
    append_repeated(value, category_, category);
    append_repeated(value, chart_, chart);
    if (type >= 0) type_.append(type);
    pattern_.append_or_null(utf8(value, pattern));
    if (leads) data_.append(as_text(layout));
  }

  StringColumn category_{*this, "category"};
  StringColumn chart_{*this, "chart"};
  LabelColumn type_{*this, "type",
                    string_dictionary({"multiline", "margin_value", "margin_lower", "margin_upper"})};
  StringColumn pattern_{*this, "pattern"};
  BytesColumn data_{*this, "data", "Z"};
};

}  // namespace

std::unique_ptr<Expander> make_custom_scalars(ValueProblems& problems) {
  return std::make_unique<CustomScalars>(problems);
}

}  // namespace tbq
