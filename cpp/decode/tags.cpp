// Implements the table of tags.
#include "decode/tags.hpp"

#include <algorithm>

#include "bytes/seeded_hash.hpp"

namespace tbq {

BlobSeries& BlobsByKind::operator[](uint8_t kind) {
  for (auto& [known, series] : all_) {
    if (known == kind) return series;
  }
  all_.emplace_front(std::piecewise_construct, std::forward_as_tuple(kind), std::tuple<>());
  return all_.front().second;
}

const BlobSeries* BlobsByKind::find(uint8_t kind) const {
  const auto entry = std::find_if(begin(), end(), [&](const auto& each) { return each.first == kind; });
  return entry == end() ? nullptr : &entry->second;
}

Kinds TagEntry::kinds() const {
  Kinds found = 0;
  for (size_t field = 0; field < kFieldCount; ++field) {
    if ((fields >> field & 1) == 0) continue;
    const Kind kind = kind_of(static_cast<ValueField>(field), plugin);
    found |= bit(kind);
    // A value of a scalar tag that is not one number is a tensor.
    if (kind == Kind::scalars && static_cast<ValueField>(field) == ValueField::tensor) {
      found |= bit(Kind::tensors);
    }
  }
  return found;
}

size_t TagTable::slot_of(std::string_view tag) const {
  const size_t mask = places_.size() - 1;
  size_t slot = SeededHash()(tag) & mask;
  while (places_[slot] != 0 && all[places_[slot] - 1]->tag != tag) slot = (slot + 1) & mask;
  return slot;
}

TagEntry& TagTable::add(std::string_view tag) {
  if (4 * (all.size() + 1) > 3 * places_.size()) {
    places_.assign(std::max<size_t>(8, 2 * places_.size()), 0);
    for (uint32_t i = 0; i < all.size(); ++i) places_[slot_of(all[i]->tag)] = i + 1;
  }
  auto entry = std::make_unique<TagEntry>();
  entry->tag = tag;
  all.push_back(std::move(entry));
  places_[slot_of(tag)] = static_cast<uint32_t>(all.size());
  return *all.back();
}

}  // namespace tbq
