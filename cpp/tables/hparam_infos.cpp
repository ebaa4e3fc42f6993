// The tables `hparam_metrics` and `hparam_domains`: an experiment's metrics and the domains of its hparams.
#include "bytes/names.hpp"
#include "tables/hparams_plugin.hpp"
#include "tables/struct_json.hpp"

namespace tbq {
namespace {

class Metrics final : public HparamsBase {
 public:
  using HparamsBase::HparamsBase;
  void append(const Value& value) override {
    each_info(value, schema::Experiment::metric_infos, [&](Bytes info) { append_one(value, info); });
  }
  void finish(Batch& batch) override {
    batch.columns.push_back(group_.finish("group"));
    batch.columns.push_back(name_.finish("name"));
    batch.columns.push_back(display_name_.finish("display_name"));
    batch.columns.push_back(description_.finish("description"));
    batch.columns.push_back(dataset_.finish("dataset"));
  }

 private:
  void append_one(const Value& value, Bytes info) {
    std::string_view group, name, display_name, description;
    uint64_t dataset = 0;
    const bool good = walk(value, info, [&](const Field& field) {
      if (field.is(schema::MetricInfo::name, Wire::bytes)) {
        walk(value, field.bytes, [&](const Field& inner) {
          if (inner.is(schema::MetricName::group, Wire::bytes)) group = as_text(inner.bytes);
          if (inner.is(schema::MetricName::tag, Wire::bytes)) name = as_text(inner.bytes);
        });
      }
      if (field.is(schema::MetricInfo::display_name, Wire::bytes)) display_name = as_text(field.bytes);
      if (field.is(schema::MetricInfo::description, Wire::bytes)) description = as_text(field.bytes);
      if (field.is(schema::MetricInfo::dataset_type, Wire::varint)) dataset = field.value;
    });
    if (!good) return;
    add_keys(value);
    text(value, group_, group);
    append_text(name_, tbq::display_name(name));
    text(value, display_name_, display_name);
    text(value, description_, description);
    dataset_.append(static_cast<int32_t>(dataset < 3 ? dataset : 0));
  }

  TextBuilder group_, name_, display_name_, description_;
  LabelBuilder dataset_{string_dictionary({"unknown", "training", "validation"})};
};

class Domains final : public HparamsBase {
 public:
  using HparamsBase::HparamsBase;
  void append(const Value& value) override {
    each_info(value, schema::Experiment::hparam_infos, [&](Bytes info) { append_one(value, info); });
  }
  void finish(Batch& batch) override {
    batch.columns.push_back(name_.finish("name"));
    batch.columns.push_back(type_.finish("type"));
    batch.columns.push_back(display_name_.finish("display_name"));
    batch.columns.push_back(description_.finish("description"));
    batch.columns.push_back(domain_.finish("domain"));
    batch.columns.push_back(min_.finish("min"));
    batch.columns.push_back(max_.finish("max"));
  }

 private:
  void append_one(const Value& value, Bytes info) {
    std::string_view name, display_name, description;
    uint64_t type = 0;
    std::string domain;
    bool interval = false;
    double min = 0, max = 0;
    const bool good = walk(value, info, [&](const Field& field) {
      if (field.is(schema::HparamInfo::name, Wire::bytes)) name = as_text(field.bytes);
      if (field.is(schema::HparamInfo::display_name, Wire::bytes)) display_name = as_text(field.bytes);
      if (field.is(schema::HparamInfo::description, Wire::bytes)) description = as_text(field.bytes);
      if (field.is(schema::HparamInfo::type, Wire::varint)) type = field.value;
      if (field.is(schema::HparamInfo::domain_discrete, Wire::bytes)) {
        domain.clear();
        if (!json_list(field.bytes, domain)) bad(value);
      }
      if (field.is(schema::HparamInfo::domain_interval, Wire::bytes)) {
        interval = true;
        walk(value, field.bytes, [&](const Field& inner) {
          if (inner.is(schema::Interval::min_value, Wire::fixed64)) min = inner.as_double();
          if (inner.is(schema::Interval::max_value, Wire::fixed64)) max = inner.as_double();
        });
      }
    });
    if (!good) return;
    add_keys(value);
    append_text(name_, tbq::display_name(name));
    type_.append(static_cast<int32_t>(type < 4 ? type : 0));
    text(value, display_name_, display_name);
    text(value, description_, description);
    text(value, domain_, domain);
    if (interval) {
      min_.append(min);
      max_.append(max);
    } else {
      min_.append_null();
      max_.append_null();
    }
  }

  TextBuilder name_, display_name_, description_, domain_;
  LabelBuilder type_{string_dictionary({"unset", "string", "bool", "number"})};
  FixedBuilder<double> min_, max_;
};

}  // namespace

std::unique_ptr<Expander> make_hparam_metrics(ValueProblems& problems) {
  return std::make_unique<Metrics>(problems);
}

std::unique_ptr<Expander> make_hparam_domains(ValueProblems& problems) {
  return std::make_unique<Domains>(problems);
}

}  // namespace tbq
