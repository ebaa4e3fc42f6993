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
    group_.append_or_null(utf8(value, group));
    name_.append(tbq::display_name(name));
    display_name_.append_or_null(utf8(value, display_name));
    description_.append_or_null(utf8(value, description));
    dataset_.append(static_cast<int32_t>(dataset < 3 ? dataset : 0));
  }

  StringColumn group_{*this, "group"};
  StringColumn name_{*this, "name"};
  StringColumn display_name_{*this, "display_name"};
  StringColumn description_{*this, "description"};
  LabelColumn dataset_{*this, "dataset", string_dictionary({"unknown", "training", "validation"})};
};

class Domains final : public HparamsBase {
 public:
  using HparamsBase::HparamsBase;
  void append(const Value& value) override {
    each_info(value, schema::Experiment::hparam_infos, [&](Bytes info) { append_one(value, info); });
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
    name_.append(tbq::display_name(name));
    type_.append(static_cast<int32_t>(type < 4 ? type : 0));
    display_name_.append_or_null(utf8(value, display_name));
    description_.append_or_null(utf8(value, description));
    domain_.append_or_null(utf8(value, domain));
    if (interval) min_.append(min);
    if (interval) max_.append(max);
  }

  StringColumn name_{*this, "name"};
  LabelColumn type_{*this, "type", string_dictionary({"unset", "string", "bool", "number"})};
  StringColumn display_name_{*this, "display_name"};
  StringColumn description_{*this, "description"};
  StringColumn domain_{*this, "domain"};
  NumberColumn min_{*this, "min"};
  NumberColumn max_{*this, "max"};
};

}  // namespace

std::unique_ptr<Expander> make_hparam_metrics(ValueProblems& problems) {
  return std::make_unique<Metrics>(problems);
}

std::unique_ptr<Expander> make_hparam_domains(ValueProblems& problems) {
  return std::make_unique<Domains>(problems);
}

}  // namespace tbq
