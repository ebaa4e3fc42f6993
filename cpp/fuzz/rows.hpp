// The rows of a decode in a comparable form, read directly from memory: far quicker than through Arrow.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "decode/decode.hpp"
#include "io/memory_file.hpp"

// The rows as bytes, by tag and kind: step, wall time, form and value; for histograms their numbers, wherever
// they are stored. A deferred value is read from `file`, and is not a row if its record is damaged.
struct Rows {
  struct Key {
    std::string tag;
    tbq::Kind kind;
    auto operator<=>(const Key&) const = default;
  };
  struct Series {
    std::vector<int64_t> steps;
    std::string bytes;
    bool operator==(const Series&) const = default;
  };
  std::map<Key, Series> series;

  bool operator==(const Rows&) const = default;
};

using Wanted = std::function<bool(const std::string& tag, tbq::Kind kind, int64_t step)>;
// Without `metadata`, an event's metadata is not compared.
Rows rows_of(const tbq::Result& result, const tbq::MemoryFile& file, const Wanted& wanted = {},
             bool metadata = true);

std::string described(const Rows& rows);
// Ends the process, with a description of both sides, if they differ.
void require_equal(const Rows& got, const Rows& want, const char* what);

// The reports on series and files, without everything that depends on how the file was read.
std::string reported(const tbq::Result& result, bool readable);
void require_same_report(const tbq::Result& got, const tbq::Result& want);
