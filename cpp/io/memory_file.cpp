// Keeps the register of files in memory.
#include "io/memory_file.hpp"

#include <mutex>

#include "bytes/seeded_hash.hpp"

namespace tbq {
namespace {

struct Register {
  std::mutex mutex;
  NameMap<std::shared_ptr<std::string>> files;
  uint64_t count = 0;
};

Register& all() {
  static auto* const files = new Register;  // never destroyed: threads may still read while the process ends
  return *files;
}

}  // namespace

MemoryFile::MemoryFile(std::string content) : content_(std::make_shared<std::string>(std::move(content))) {
  const std::lock_guard lock(all().mutex);
  path_ = std::string(1, '\0') + "memory/" + std::to_string(++all().count);
  all().files.emplace(path_, content_);
}

MemoryFile::~MemoryFile() {
  const std::lock_guard lock(all().mutex);
  all().files.erase(path_);
}

std::shared_ptr<std::string> MemoryFile::find(const std::string& path) {
  const std::lock_guard lock(all().mutex);
  const auto entry = all().files.find(path);
  return entry == all().files.end() ? nullptr : entry->second;
}

}  // namespace tbq
