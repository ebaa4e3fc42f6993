// Opens the files of a call and determines what each of them is.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "decode/decode.hpp"

namespace tbq {

// The content of a file, judged by its first bytes. A file that does not begin with a record, and is nothing
// else that is known, counts as damaged records.
enum class FileContent : uint8_t { records, empty, git_lfs, compressed };
FileContent content_of(const File& file, BlockReader& reader);
// Whether these can be the first bytes of a gzip or zlib file.
bool looks_compressed(Bytes head);

// Several threads may open files at the same time.
class FileOpener {
 public:
  // Writes its findings to `reports`, which has one entry per file.
  FileOpener(const DecodeOptions& options, std::vector<FileReport>& reports)
      : options_(options), reports_(reports) {}

  // Returns false if there is nothing to decode.
  bool open(uint32_t index, File& file, BlockReader& reader);

 private:
  bool open_locked(FileReport& report, File& file, BlockReader& reader);

  const DecodeOptions& options_;
  std::vector<FileReport>& reports_;
  std::mutex mutexes_[16];  // parts of one file are opened one after the other: one of them unpacks the file
};

}  // namespace tbq
