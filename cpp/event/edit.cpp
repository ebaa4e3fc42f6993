// Walks Event, Summary and Value field by field, and copies, drops or replaces each field.
#include "event/edit.hpp"

#include "bytes/wire.hpp"
#include "event/schema.hpp"

namespace tbq {
namespace {

void put_bytes(std::string& out, uint32_t number, std::string_view bytes) {
  append_varint(out, schema::key(number, Wire::bytes));
  append_varint(out, bytes.size());
  out.append(bytes);
}

// Calls visit(field, raw) for each field of a message; `raw` is all of the field's bytes. Returns false if
// the message is malformed.
template <class Visit>
bool each_raw_field(Bytes message, Visit&& visit) {
  Cursor cursor(message);
  Field field;
  while (!cursor.empty()) {
    const uint8_t* start = cursor.position();
    if (!cursor.field(field)) return false;
    if (!visit(field, as_text({start, static_cast<size_t>(cursor.position() - start)}))) return false;
  }
  return true;
}

static_assert(schema::Value::tag == schema::TaggedRunMetadata::tag);

// A message with a tag: a Summary.Value or a TaggedRunMetadata.
bool edit_tagged(Bytes message, const ValueEdit& edit, std::string& out) {
  bool tag_written = false;
  const bool valid = each_raw_field(message, [&](const Field& field, std::string_view raw) {
    if (edit.tag && field.is(schema::Value::tag, Wire::bytes)) {
      if (!tag_written) put_bytes(out, schema::Value::tag, *edit.tag);
      tag_written = true;
    } else {
      out.append(raw);
    }
    return true;
  });
  if (edit.tag && !tag_written) put_bytes(out, schema::Value::tag, *edit.tag);
  if (!edit.metadata.empty()) put_bytes(out, schema::Value::metadata, as_text(edit.metadata));
  return valid;
}

class Editor {
 public:
  Editor(std::span<const ValueEdit> values, const int64_t* step, std::string& out)
      : values_(values), step_(step), out_(out) {}

  Edited event(Bytes event) {
    const bool valid = each_raw_field(event, [&](const Field& field, std::string_view raw) {
      if (field.is(schema::Event::wall_time, Wire::fixed64)) {
        out_.append(raw);
        return true;
      }
      put_step();
      if (field.is(schema::Event::step, Wire::varint)) {
        if (!step_) out_.append(raw);
        return true;
      }
      if (field.wire == Wire::bytes) {
        switch (field.number) {
          case schema::Event::graph_def:
          case schema::Event::log_message:
          case schema::Event::session_log:
          case schema::Event::meta_graph_def:
            if (next().drop) return true;
            break;
          case schema::Event::summary:
            return summary(field.bytes, raw);
          case schema::Event::tagged_run_metadata:
            return run_metadata(field.bytes, raw);
          default:
            break;
        }
      }
      not_empty_ = true;
      out_.append(raw);
      return true;
    });
    put_step();
    if (!valid) return Edited::malformed;
    return dropped_ && !not_empty_ ? Edited::empty : Edited::kept;
  }

 private:
  const ValueEdit& next() {
    static const ValueEdit none;
    const ValueEdit& edit = at_ < values_.size() ? values_[at_] : none;
    if (++done_ >= edit.count) {
      ++at_;
      done_ = 0;
    }
    dropped_ = dropped_ || edit.drop;
    return edit;
  }

  void put_step() {
    if (!step_ || step_written_) return;
    step_written_ = true;
    if (*step_ == 0) return;  // proto3 omits a zero
    append_varint(out_, schema::key(schema::Event::step, Wire::varint));
    append_varint(out_, static_cast<uint64_t>(*step_));
  }

  bool summary(Bytes summary, std::string_view raw) {
    inner_.clear();
    bool changed = false;
    const bool valid = each_raw_field(summary, [&](const Field& field, std::string_view bytes) {
      if (!field.is(schema::Summary::value, Wire::bytes)) {
        inner_.append(bytes);
        return true;
      }
      const ValueEdit& edit = next();
      changed = changed || edit.any();
      if (edit.drop) return true;
      if (!edit.any()) {
        inner_.append(bytes);
        return true;
      }
      value_.clear();
      if (!edit_tagged(field.bytes, edit, value_)) return false;
      put_bytes(inner_, schema::Summary::value, value_);
      return true;
    });
    if (!valid) return false;
    if (!changed) {
      out_.append(raw);
      not_empty_ = true;
    } else if (!inner_.empty()) {
      put_bytes(out_, schema::Event::summary, inner_);
      not_empty_ = true;
    }
    return true;
  }

  bool run_metadata(Bytes message, std::string_view raw) {
    const ValueEdit& edit = next();
    if (edit.drop) return true;
    not_empty_ = true;
    if (!edit.tag) {
      out_.append(raw);
      return true;
    }
    value_.clear();
    if (!edit_tagged(message, {.tag = edit.tag, .metadata = {}}, value_)) return false;
    put_bytes(out_, schema::Event::tagged_run_metadata, value_);
    return true;
  }

  std::span<const ValueEdit> values_;
  const int64_t* step_;
  std::string& out_;
  std::string inner_;
  std::string value_;
  size_t at_ = 0;
  uint64_t done_ = 0;          // how many values values_[at_] was applied to
  bool step_written_ = false;  // the new step has been written
  bool dropped_ = false;       // a value was dropped
  bool not_empty_ = false;     // the new event contains something besides time and step
};

}  // namespace

Edited edit_event(Bytes event, std::span<const ValueEdit> values, const int64_t* step, std::string& out) {
  out.clear();
  return Editor(values, step, out).event(event);
}

void append_wall_time(std::string& out, double wall_time) {
  uint8_t time[1 + sizeof(double)];
  WireWriter writer(time);
  writer.byte(schema::key(schema::Event::wall_time, Wire::fixed64));
  writer.fixed(wall_time);
  out.append(reinterpret_cast<const char*>(time), sizeof(time));
}

void append_file_version(std::string& out, double wall_time) {
  append_wall_time(out, wall_time);
  put_bytes(out, schema::Event::file_version, "brain.Event:2");
}

}  // namespace tbq
