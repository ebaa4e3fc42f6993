// The table `logs`: log messages, and where sessions started, stopped and saved.
#include "event/schema.hpp"
#include "tables/kinds.hpp"

namespace tbq {
namespace {

class Logs final : public Expander {
 public:
  using Expander::Expander;
  void append(const Value& value) override {
    add_keys(value);
    const bool session = value.row->field == ValueField::session_log;
    uint64_t level = 0;
    std::string_view message, checkpoint;
    const bool valid = each_field(value.payload, [&](const Field& field) {
      if (session) {
        if (field.is(schema::SessionLog::status, Wire::varint)) level = field.value;
        if (field.is(schema::SessionLog::checkpoint_path, Wire::bytes)) checkpoint = as_text(field.bytes);
        if (field.is(schema::SessionLog::message, Wire::bytes)) message = as_text(field.bytes);
      } else {
        if (field.is(schema::LogMessage::level, Wire::varint)) level = field.value;
        if (field.is(schema::LogMessage::message, Wire::bytes)) message = as_text(field.bytes);
      }
    });
    if (!valid) report(value, "bad_log", "the log message cannot be read");
    level_.append(session ? 6 + static_cast<int32_t>(level < 4 ? level : 0)
                          : static_cast<int32_t>(level <= 50 ? level / 10 : 0));
    message_.append_or_null(utf8(value, message));
    checkpoint_.append_or_null(utf8(value, checkpoint));
  }

 private:
  LabelColumn level_{*this, "level",
                     string_dictionary({"unknown", "debugging", "info", "warn", "error", "fatal",
                                        "unspecified", "start", "stop", "checkpoint"})};
  StringColumn message_{*this, "message"};
  StringColumn checkpoint_{*this, "checkpoint_path"};
};

}  // namespace

std::unique_ptr<Expander> make_logs(ValueProblems& problems) { return std::make_unique<Logs>(problems); }

}  // namespace tbq
