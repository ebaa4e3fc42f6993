// The table `others`: values that belong to no other table.
#include "bytes/utf8.hpp"
#include "event/metadata.hpp"
#include "tables/kinds.hpp"
#include "tables/name_columns.hpp"
#include "tables/tensor_columns.hpp"

namespace tbq {
namespace {

// The names of the fields, in the order of ValueField.
std::shared_ptr<const Column> field_dictionary() {
  std::vector<std::string> names;
  for (size_t i = 0; i < kFieldCount; ++i) names.emplace_back(field_name(static_cast<ValueField>(i)));
  return string_dictionary(names);
}

class Others final : public Expander {
 public:
  using Expander::Expander;
  void append(const Value& value) override {
    add_keys(value);
    const TagMetadata* known = &value.series->metadata;
    TagMetadata own;
    if (value.row->metadata && parse_metadata(value.metadata, own)) known = &own;
    plugin_.append_or_null(valid_utf8(known->plugin));
    form_.append(static_cast<int32_t>(value.row->field));
    if (value.row->field == ValueField::tensor) {
      const TensorError error = tensor_.append(value);
      if (error != TensorError::none) report(value, "bad_tensor", tensor_error_text(error));
    } else if (value.row->field != ValueField::none) {
      tensor_.append_raw(value.payload);
    }
    content_.append(as_text(plugin_content(value.metadata)));
    names_.append(value);
  }

 private:
  StringColumn plugin_{*this, "plugin"};
  LabelColumn form_{*this, "form", field_dictionary()};
  TensorColumns tensor_{*this};
  BytesColumn content_{*this, "content", "Z"};
  NameColumns names_{*this};
};

}  // namespace

std::unique_ptr<Expander> make_others(ValueProblems& problems) { return std::make_unique<Others>(problems); }

}  // namespace tbq
