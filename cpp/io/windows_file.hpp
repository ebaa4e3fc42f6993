// Files of Windows: opened so that other programs may still delete and rename them, with their identity.
#pragma once

#ifdef _WIN32

#include <cstddef>
#include <cstdint>
#include <string>

#include "io/file_status.hpp"

namespace tbq {

// A descriptor of the C runtime for a file to read, or to create; or -errno.
int open_windows_file(const std::string& path, bool create);

// Reads up to `count` bytes at `offset`, from any thread. Returns their number, 0 at the end, or -errno.
int64_t read_windows_file(int descriptor, uint64_t offset, void* into, size_t count);

FileStatus windows_status(const std::string& path);
FileStatus windows_status(int descriptor);

}  // namespace tbq

#endif
