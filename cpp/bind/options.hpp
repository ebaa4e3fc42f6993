// What Python passes to the core: names, and functions to call.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "decode/decode.hpp"
#include "decode/restarts.hpp"
#include "event/kind.hpp"

namespace tbq {

Restarts restarts_of(const std::string& name);
Kind kind_named(const std::string& name);
Kinds kinds_of(const std::vector<std::string>& names);

// Paths as bytes.
std::vector<std::string> paths_of(const nanobind::list& paths);
// Gives files the names that order them, unless `names` is None.
void set_names(std::vector<FileSpec>& files, const nanobind::object& names);

// Whether a tag is wanted. Each is asked for once, however many runs have it: a call of Python costs more
// than a small file.
class TagQuestions {
 public:
  explicit TagQuestions(nanobind::object wants) : wants_(std::move(wants)) {}
  bool ask(std::string_view tag);

 private:
  nanobind::object wants_;
  std::mutex mutex_;
  std::map<std::string, bool, std::less<>> answers_;
};

// Where `inflate` has unpacked a file, or "".
std::string unpacked_path(const nanobind::object& inflate, const std::string& path);

}  // namespace tbq
