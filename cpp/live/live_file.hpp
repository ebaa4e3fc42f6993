// One file that is followed: what has been read of it, and how far that is settled.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "decode/sessions.hpp"
#include "io/file_status.hpp"

namespace tbq {

// What became of a file since the last look.
enum class FileChange : uint8_t { none, added, grown, replaced, gone };
const char* file_change_name(FileChange change);

struct LiveFile {
  std::string path;
  uint32_t id = 0;    // of its report; another one each time it is read from the start
  FileStatus status;  // when it was read last
  bool known = false;
  bool again = false;  // reading it was stopped before its end
  FileReport opened;   // what opening it said

  FileStatus now;  // found by the last look
  FileChange change = FileChange::none;

  uint64_t settled = 0;        // what is appended cannot change anything before this
  Parts parts;                 // up to `settled`, one after the other
  std::shared_ptr<Part> tail;  // from there on; decoded again when the file has grown
  uint64_t unfinished = 0;     // bytes at the end that are not all of a record
  // Bytes that a file that has only grown still has: at its start, and before `settled`.
  std::string first;
  std::string last;

  // What an ordered look at its status says; a file that may have grown must be compared yet.
  FileChange compare(const FileStatus& found) const;
  // Notes the bytes to compare by; the reader has just read the file.
  void remember(const File& file, BlockReader& reader);
  // Whether the file still has them.
  bool remembers(const File& file) const;
};

// The first of a row of parts at the end that are due to be decoded again as one, so that there are never
// many; parts.size() if none are.
size_t parts_to_merge(const Parts& parts);

}  // namespace tbq
