// The table of tags.
#include "decode/tags.hpp"

namespace tbq {

TagEntry& TagTable::add(std::string_view tag) {
  auto entry = std::make_unique<TagEntry>();
  entry->tag = tag;
  all.push_back(std::move(entry));
  TagEntry& added = *all.back();
  by_name_.emplace(std::string_view(added.tag), &added);
  return added;
}

}  // namespace tbq
