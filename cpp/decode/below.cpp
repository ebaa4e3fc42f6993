// Finds tags that the run and files below it share, and gives them other names.
#include "decode/below.hpp"

namespace tbq {

Renames renames_of(const Parts& parts, const std::vector<FileReport>& files) {
  constexpr std::string_view kPrefix = "hparam/";
  std::set<std::string_view> taken;  // tags as they were logged below the run, and the new names
  for (const auto& part : parts) taken.insert(part->logged.begin(), part->logged.end());
  if (taken.empty()) return {};
  const auto has = [&](std::string_view tag) {
    for (const auto& part : parts) {
      if (!files[part->file].is_below && part->tags.find(tag)) return true;
    }
    return false;
  };
  Renames renamed;
  const std::vector<std::string_view> logged(taken.begin(), taken.end());
  for (const std::string_view tag : logged) {
    if (!has(tag)) continue;
    std::string name(tag);
    do {
      name.insert(0, kPrefix);
    } while (taken.contains(name) || has(name));
    taken.insert(renamed.emplace(tag, std::move(name)).first->second);
  }
  return renamed;
}

}  // namespace tbq
