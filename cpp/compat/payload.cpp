// Stores messages of values, and reads them again, verified.
#include "compat/payload.hpp"

#include <cstring>

#include "io/input.hpp"
#include "record/framing.hpp"

namespace tbq {

Payload::Payload(Bytes bytes, Bytes record, const RecordPlace& place, const KeptBytes& kept, uint64_t most) {
  if (bytes.size() <= kSmall) {
    size_ = static_cast<uint8_t>(bytes.size());
    if (size_ > 0) std::memcpy(small_, bytes.data(), size_);
    return;
  }
  auto large = std::make_shared<Large>();
  large->kept = kept;
  if (place.path && bytes.size() >= kWorthReading &&
      kept->load(std::memory_order_relaxed) + bytes.size() > most) {
    large->place = place;
    large->record = record.size();
    large->begin = static_cast<uint64_t>(bytes.data() - record.data());
    large->size = bytes.size();
  } else {
    large->bytes = as_text(bytes);
    kept->fetch_add(bytes.size(), std::memory_order_relaxed);
  }
  large_ = std::move(large);
}

bool Payload::read(std::string& room, std::string_view& out) const {
  if (!large_) {
    out = {small_, size_};
    return true;
  }
  if (!large_->place.path) {
    out = large_->bytes;
    return true;
  }
  File file;
  if (file.open(*large_->place.path) != 0) return false;
  BlockReader reader;
  reader.reset(&file, file.size());
  const uint8_t* record = reader.view(large_->place.offset, static_cast<size_t>(large_->record + kOverhead));
  if (!record || !record_agrees(record, large_->record)) return false;
  const uint8_t* payload = record + kHeader;
  room.assign(reinterpret_cast<const char*>(payload + large_->begin), static_cast<size_t>(large_->size));
  out = room;
  return true;
}

}  // namespace tbq
