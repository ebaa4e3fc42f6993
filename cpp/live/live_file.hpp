// A followed file: what was read of it, and up to which offset that is settled.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "decode/sessions.hpp"
#include "io/file_status.hpp"

namespace tbq {

// The change of a file since the last check.
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

// Pieces of a large file's new bytes, decoded on several threads. Each piece except the first begins at a
// record that was searched for, so the piece before it must end exactly there.
struct Ahead {
  struct Piece {
    uint64_t begin = 0;
    uint64_t limit = 0;
    std::shared_ptr<Part> part;  // null if it was not decoded
  };
  std::vector<Piece> pieces;
  FileStatus status;  // before the pieces were read
};

struct LiveFile {
  std::string path;
  std::string name;       // orders the files, if the path is only that of a copy
  bool is_below = false;  // see decode/below.hpp
  uint32_t id = 0;        // the number of its report; a new one each time the file is read from the start
  FileStatus status;      // at the last read
  bool known = false;
  bool has_rest = false;  // some bytes were left for the next poll
  FileReport opened;      // the findings of opening it

  FileStatus now;  // the result of the last check
  FileChange change = FileChange::none;
  uint64_t until = UINT64_MAX;  // records from here on are left for the next poll

  uint64_t settled = 0;        // appended bytes cannot change anything before this
  Parts parts;                 // consecutive, up to `settled`
  std::shared_ptr<Part> tail;  // from `settled` on; decoded again when the file has grown
  uint64_t unfinished = 0;     // bytes of an incomplete record at the end
  // Fingerprints that do not change if the file only grows: of its first bytes, and of those around
  // `settled`.
  Fingerprint first;
  Fingerprint last;
  Ahead ahead;

  // Adds all parts to `to`; if that fails, adds none.
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
  // The offset to read from, if the file is what its status claims, and the number of bytes to read.
  uint64_t begin_of_new_bytes() const {
    return change == FileChange::grown && now.size >= settled ? settled : 0;
  }
  uint64_t new_bytes() const {
    return change == FileChange::none || change == FileChange::gone ? 0 : now.size - begin_of_new_bytes();
  }
  // The change that a new status shows; if the file may have grown, its content must still be compared.
  FileChange compare(const FileStatus& found) const;
  // Computes the fingerprints; the reader has just read the file.
  void remember(BlockReader& reader);
  // Whether the fingerprints still match. In a file that also grew, a change outside of them is not seen.
  bool remembers(const File& file) const;
};

// The index of the first of the last parts that should be decoded again as one part, so that there are never
// many; parts.size() if there are none.
size_t parts_to_merge(const Parts& parts);

}  // namespace tbq
