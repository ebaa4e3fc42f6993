// Converts what Python passes to the core: names, paths, and functions to call.
#include "bind/options.hpp"

#include "bind/gil.hpp"
#include "bytes/names.hpp"

namespace nb = nanobind;

namespace tbq {

Restarts restarts_of(const std::string& name) {
  if (name == "resume") return Restarts::resume;
  if (name == "keep") return Restarts::keep;
  if (name == "last") return Restarts::last;
  if (name == "tensorboard") return Restarts::tensorboard;
  throw nb::value_error("restarts must be resume, keep, last or tensorboard");
}

Kind kind_named(const std::string& name) {
  for (size_t i = 0; i < kKindCount; ++i) {
    if (name == kind_name(static_cast<Kind>(i))) return static_cast<Kind>(i);
  }
  throw nb::value_error(("unknown kind: " + name).c_str());
}

Kinds kinds_of(const std::vector<std::string>& names) {
  Kinds kinds = 0;
  for (const std::string& name : names) kinds |= bit(kind_named(name));
  return kinds;
}

std::vector<std::string> paths_of(const nb::list& paths) {
  std::vector<std::string> out;
  out.reserve(nb::len(paths));
  for (nb::handle path : paths) {
    const auto bytes = nb::cast<nb::bytes>(path);
    out.emplace_back(bytes.c_str(), bytes.size());
  }
  return out;
}

void set_names(std::vector<FileSpec>& files, const nb::object& names) {
  if (names.is_none()) return;
  std::vector<std::string> new_names = paths_of(nb::cast<nb::list>(names));
  if (new_names.size() != files.size()) throw nb::value_error("names: want one per path");
  for (size_t i = 0; i < files.size(); ++i) files[i].name = std::move(new_names[i]);
}

void set_below(std::vector<FileSpec>& files, const nb::object& below) {
  if (below.is_none()) return;
  const auto flags = nb::cast<std::vector<bool>>(below);
  if (flags.size() != files.size()) throw nb::value_error("below: want one per path");
  for (size_t i = 0; i < files.size(); ++i) files[i].is_below = flags[i];
}

bool TagQuestions::ask(std::string_view tag) {
  const std::lock_guard turn(mutex_);
  const auto known = answers_.find(tag);
  if (known != answers_.end()) return known->second;
  const std::string text = display_name(tag);
  const bool wanted =
      in_python([&] { return nb::cast<bool>(call(wants_, nb::str(text.data(), text.size()))); });
  answers_.emplace(tag, wanted);
  return wanted;
}

std::string unpacked_path(const nb::object& inflate, const std::string& path) {
  return in_python([&]() -> std::string {
    const nb::object unpacked = call(inflate, nb::bytes(path.data(), path.size()));
    if (unpacked.is_none()) return {};
    const auto bytes = nb::cast<nb::bytes>(unpacked);
    return {bytes.c_str(), bytes.size()};
  });
}

}  // namespace tbq
