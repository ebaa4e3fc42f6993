// Field by field through Event, Summary and Value: copy, leave out, or replace.
#include "event/edit.hpp"

#include "bytes/crc32c.hpp"

namespace tbq {
namespace {

void put_varint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

void put_bytes(std::string& out, uint32_t number, std::string_view bytes) {
  put_varint(out, uint64_t{number} << 3 | static_cast<uint64_t>(Wire::bytes));
  put_varint(out, bytes.size());
  out.append(bytes);
}

// Calls take(field, raw) for each field of a message, where raw is all of its bytes. False where it is
// malformed.
template <class Take>
bool each_field(Bytes message, Take&& take) {
  Cursor cursor(message);
  Field field;
  while (!cursor.empty()) {
    const uint8_t* start = cursor.position();
    if (!cursor.field(field)) return false;
    if (!take(field, as_text({start, static_cast<size_t>(cursor.position() - start)}))) return false;
  }
  return true;
}

// A message whose field 1 is a tag: a Summary.Value or a TaggedRunMetadata.
bool edit_tagged(Bytes message, const ValueEdit& edit, std::string& out) {
  bool placed = false;
  const bool whole = each_field(message, [&](const Field& field, std::string_view raw) {
    if (edit.tag && field.is(1, Wire::bytes)) {
      if (!placed) put_bytes(out, 1, *edit.tag);
      placed = true;
    } else {
      out.append(raw);
    }
    return true;
  });
  if (edit.tag && !placed) put_bytes(out, 1, *edit.tag);
  if (!edit.metadata.empty()) put_bytes(out, 9, as_text(edit.metadata));
  return whole;
}

class Editor {
 public:
  Editor(std::span<const ValueEdit> values, const int64_t* step, std::string& out)
      : values_(values), step_(step), out_(out) {}

  Edited event(Bytes event) {
    const bool whole = each_field(event, [&](const Field& field, std::string_view raw) {
      if (field.is(1, Wire::fixed64)) {
        out_.append(raw);
        return true;
      }
      put_step();
      if (field.is(2, Wire::varint)) {
        if (!step_) out_.append(raw);
        return true;
      }
      if (field.wire == Wire::bytes) {
        switch (field.number) {
          case 4:
          case 6:
          case 7:
          case 9:
            if (next().drop) return true;
            break;
          case 5:
            return summary(field.bytes, raw);
          case 8:
            return run_metadata(field.bytes, raw);
          default:
            break;
        }
      }
      left_ = true;
      out_.append(raw);
      return true;
    });
    put_step();
    if (!whole) return Edited::malformed;
    return dropped_ && !left_ ? Edited::gone : Edited::kept;
  }

 private:
  const ValueEdit& next() {
    static const ValueEdit none;
    const ValueEdit& edit = at_ < values_.size() ? values_[at_] : none;
    ++at_;
    dropped_ = dropped_ || edit.drop;
    return edit;
  }

  void put_step() {
    if (!step_ || placed_) return;
    placed_ = true;
    if (*step_ == 0) return;  // proto3 leaves it out
    put_varint(out_, 2U << 3);
    put_varint(out_, static_cast<uint64_t>(*step_));
  }

  bool summary(Bytes summary, std::string_view raw) {
    inner_.clear();
    bool changed = false;
    const bool whole = each_field(summary, [&](const Field& field, std::string_view bytes) {
      if (!field.is(1, Wire::bytes)) {
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
      put_bytes(inner_, 1, value_);
      return true;
    });
    if (!whole) return false;
    if (!changed) {
      out_.append(raw);
      left_ = true;
    } else if (!inner_.empty()) {
      put_bytes(out_, 5, inner_);
      left_ = true;
    }
    return true;
  }

  bool run_metadata(Bytes message, std::string_view raw) {
    const ValueEdit& edit = next();
    if (edit.drop) return true;
    left_ = true;
    if (!edit.tag) {
      out_.append(raw);
      return true;
    }
    value_.clear();
    if (!edit_tagged(message, {false, edit.tag, {}}, value_)) return false;
    put_bytes(out_, 8, value_);
    return true;
  }

  std::span<const ValueEdit> values_;
  const int64_t* step_;
  std::string& out_;
  std::string inner_;
  std::string value_;
  size_t at_ = 0;
  bool placed_ = false;   // the new step has been written
  bool dropped_ = false;  // a value was left out
  bool left_ = false;     // something besides time and step is in the new event
};

template <class T>
void put_fixed(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

}  // namespace

Edited edit_event(Bytes event, std::span<const ValueEdit> values, const int64_t* step, std::string& out) {
  out.clear();
  return Editor(values, step, out).event(event);
}

void append_record(std::string& out, Bytes payload) {
  const uint64_t length = payload.size();
  uint8_t head[8];
  std::memcpy(head, &length, sizeof(head));
  put_fixed(out, length);
  put_fixed(out, crc_mask(crc32c(0, head, sizeof(head))));
  out.append(as_text(payload));
  put_fixed(out, crc_mask(crc32c(0, payload.data(), payload.size())));
}

}  // namespace tbq
