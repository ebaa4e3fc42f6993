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

// A checksum of some bytes of a file.
struct Fingerprint {
  uint64_t begin = 0;
  uint32_t size = 0;
  uint32_t crc = 0;

  static Fingerprint of(BlockReader& reader, uint64_t begin, uint64_t end);
  bool is_of(const File& file) const;
};

// Parts of what is new in a large file, which threads decode at the same time. Each but the first begins at a
// record that was searched for, so the one before must end there.
struct Ahead {
  struct Piece {
    uint64_t begin = 0;
    uint64_t limit = 0;
    std::shared_ptr<Part> part;  // null if it was not decoded
  };
  std::vector<Piece> pieces;
  FileStatus status;  // before they were read
};

struct LiveFile {
  std::string path;
  std::string name;   // by which files are ordered
  uint32_t id = 0;    // of its report; another one each time it is read from the start
  FileStatus status;  // when it was read last
  bool known = false;
  bool again = false;  // some of it was left to the next look
  FileReport opened;   // what opening it said

  FileStatus now;  // found by the last look
  FileChange change = FileChange::none;
  uint64_t until = UINT64_MAX;  // records from here on are left to the next look

  uint64_t settled = 0;        // what is appended cannot change anything before this
  Parts parts;                 // up to `settled`, one after the other
  std::shared_ptr<Part> tail;  // from there on; decoded again when the file has grown
  uint64_t unfinished = 0;     // bytes at the end that are not all of a record
  // What a file that has only grown still has: its first bytes, and those around `settled`.
  Fingerprint first;
  Fingerprint last;
  Ahead ahead;

  // Adds all parts that there are; all of them or, if that fails, none.
  void add_parts(Parts& to) const {
    to.reserve(to.size() + parts.size() + 1);
    to.insert(to.end(), parts.begin(), parts.end());
    if (tail) to.push_back(tail);
  }
  void forget_parts() noexcept {
    parts.clear();
    tail.reset();
    settled = unfinished = 0;
    first = last = {};
  }
  // From where on it is to be read, if it is what its status says, and how many bytes that are.
  uint64_t begin_of_news() const { return change == FileChange::grown && now.size >= settled ? settled : 0; }
  uint64_t news() const {
    return change == FileChange::none || change == FileChange::gone ? 0 : now.size - begin_of_news();
  }
  // What an ordered look at its status says; a file that may have grown must be compared yet.
  FileChange compare(const FileStatus& found) const;
  // Takes the fingerprints; the reader has just read the file.
  void remember(BlockReader& reader);
  // Whether the file still has them. A change before and after them, in a file that also grew, is not seen.
  bool remembers(const File& file) const;
};

// The first of a row of parts at the end that are due to be decoded again as one, so that there are never
// many; parts.size() if none are.
size_t parts_to_merge(const Parts& parts);

}  // namespace tbq
