// What Python passes to the core: names, paths, and functions to call.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "bind/casters.hpp"
#include "decode/decode.hpp"
#include "decode/restarts.hpp"
#include "event/kind.hpp"

namespace tbq {

Restarts restarts_of(const std::string& name);
Kind kind_named(const std::string& name);
Kinds kinds_of(const std::vector<std::string>& names);

// Paths as bytes.
std::vector<std::string> paths_of(const nanobind::list& paths);
// Sets the names that files are ordered by, unless `names` is None.
void set_names(std::vector<FileSpec>& files, const nanobind::object& names);
// Sets which files are of a directory below their run's, unless `below` is None.
void set_below(std::vector<FileSpec>& files, const nanobind::object& below);

// Asks Python whether a tag is wanted, once per tag, however many runs have it: a call into Python costs more
// than reading a small file.
class TagQuestions {
 public:
  explicit TagQuestions(nanobind::object wants) : wants_(std::move(wants)) {}
  bool ask(std::string_view tag);

 private:
  nanobind::object wants_;
  std::mutex mutex_;
  std::map<std::string, bool, std::less<>> answers_;
};

// The path to which `inflate` unpacked a file, or "" if `inflate` returned None.
std::string unpacked_path(const nanobind::object& inflate, const std::string& path);

}  // namespace tbq
