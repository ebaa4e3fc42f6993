// The table `meshes`: vertices, faces and colors, one tensor each.
#include "bytes/utf8.hpp"
#include "event/metadata.hpp"
#include "event/schema.hpp"
#include "tables/kinds.hpp"
#include "tables/tensor_columns.hpp"

namespace tbq {
namespace {

class Meshes final : public Expander {
 public:
  using Expander::Expander;
  void append(const Value& value) override {
    add_keys(value);
    uint64_t component = 0;
    std::string_view name, config;
    each_field(plugin_content(value.metadata), [&](const Field& field) {
      if (field.is(schema::MeshPluginData::name, Wire::bytes)) name = as_text(field.bytes);
      if (field.is(schema::MeshPluginData::content_type, Wire::varint)) component = field.value;
      if (field.is(schema::MeshPluginData::json_config, Wire::bytes)) config = as_text(field.bytes);
    });
    name_.append_or_null(valid_utf8(name));
    component_.append(static_cast<int32_t>(component < 4 ? component : 0));
    config_.append_or_null(valid_utf8(config));
    const TensorError error =
        value.row->field == ValueField::tensor ? tensor_.append(value) : TensorError::dtype;
    if (value.row->field != ValueField::tensor) tensor_.append_raw(value.payload);
    if (error != TensorError::none) report(value, "bad_tensor", tensor_error_text(error));
  }

 private:
  StringColumn name_{*this, "name"};
  LabelColumn component_{*this, "component", string_dictionary({"undefined", "vertex", "face", "color"})};
  StringColumn config_{*this, "config"};
  TensorColumns tensor_{*this};
};

}  // namespace

std::unique_ptr<Expander> make_meshes(ValueProblems& problems) { return std::make_unique<Meshes>(problems); }

}  // namespace tbq
