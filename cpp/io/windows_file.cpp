// Calls Windows itself: the C runtime neither shares files for deletion nor knows their identity.
#include "io/windows_file.hpp"

#ifdef _WIN32

#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <cerrno>
#include <optional>

#include "io/windows_rules.hpp"

namespace tbq {
namespace {

constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

int errno_of(DWORD error) {
  switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_NETPATH:
    case ERROR_BAD_NET_NAME:
      return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
    case ERROR_DELETE_PENDING:
      return EACCES;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
      return EEXIST;
    case ERROR_TOO_MANY_OPEN_FILES:
      return EMFILE;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
      return ENOMEM;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
      return ENOSPC;
    case ERROR_FILENAME_EXCED_RANGE:
      return ENAMETOOLONG;
    case ERROR_INVALID_HANDLE:
      return EBADF;
    default:
      return EIO;
  }
}

std::u16string current_directory() {
  std::wstring name(MAX_PATH, L'\0');
  DWORD length = GetCurrentDirectoryW(static_cast<DWORD>(name.size()), name.data());
  if (length > name.size()) {  // then it is the size that is needed
    name.resize(length);
    length = GetCurrentDirectoryW(static_cast<DWORD>(name.size()), name.data());
  }
  return {name.begin(), name.begin() + (length <= name.size() ? length : 0)};
}

// An open handle, or INVALID_HANDLE_VALUE with an errno in `error`.
HANDLE open_handle(const std::string& path, DWORD access, DWORD disposition, DWORD flags, int& error) {
  const std::optional<std::u16string> native = windows_path(path, current_directory());
  error = ENOENT;  // no file has a name that is not text
  if (!native) return INVALID_HANDLE_VALUE;
  const std::wstring name(native->begin(), native->end());
  HANDLE handle = CreateFileW(name.c_str(), access, kShareAll, nullptr, disposition, flags, nullptr);
  error = handle == INVALID_HANDLE_VALUE ? errno_of(GetLastError()) : 0;
  return handle;
}

uint64_t joined(DWORD high, DWORD low) { return uint64_t{high} << 32 | low; }

FileStatus status_of_handle(HANDLE handle) {
  FileStatus status;
  BY_HANDLE_FILE_INFORMATION info;
  if (!GetFileInformationByHandle(handle, &info)) {
    status.error = errno_of(GetLastError());
    return status;
  }
  status.is_directory = (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
  status.is_regular = !status.is_directory && GetFileType(handle) == FILE_TYPE_DISK;
  status.size = joined(info.nFileSizeHigh, info.nFileSizeLow);
  status.modified = nanoseconds_of_filetime(
      joined(info.ftLastWriteTime.dwHighDateTime, info.ftLastWriteTime.dwLowDateTime));
  status.device = info.dwVolumeSerialNumber;
  status.inode = joined(info.nFileIndexHigh, info.nFileIndexLow);
  FILE_BASIC_INFO basic;
  if (GetFileInformationByHandleEx(handle, FileBasicInfo, &basic, sizeof basic) &&
      basic.ChangeTime.QuadPart > 0) {
    status.changed = nanoseconds_of_filetime(static_cast<uint64_t>(basic.ChangeTime.QuadPart));
  }
  return status;
}

}  // namespace

int open_windows_file(const std::string& path, bool create) {
  int error = 0;
  // With backup semantics a directory opens too, so that the caller can say that it is one.
  HANDLE handle =
      open_handle(path, create ? GENERIC_WRITE : GENERIC_READ, create ? CREATE_NEW : OPEN_EXISTING,
                  create ? FILE_ATTRIBUTE_NORMAL : FILE_FLAG_BACKUP_SEMANTICS, error);
  if (handle == INVALID_HANDLE_VALUE) return -error;
  const int descriptor = _open_osfhandle(reinterpret_cast<intptr_t>(handle),
                                         (create ? _O_WRONLY : _O_RDONLY) | _O_BINARY | _O_NOINHERIT);
  if (descriptor < 0) {
    CloseHandle(handle);
    return -EMFILE;
  }
  return descriptor;
}

int64_t read_windows_file(int descriptor, uint64_t offset, void* into, size_t count) {
  OVERLAPPED place = {};
  place.Offset = static_cast<DWORD>(offset & 0xffffffff);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  DWORD got = 0;
  auto* const handle = reinterpret_cast<HANDLE>(_get_osfhandle(descriptor));
  if (ReadFile(handle, into, static_cast<DWORD>(count), &got, &place)) return got;
  const DWORD error = GetLastError();
  return error == ERROR_HANDLE_EOF ? 0 : -errno_of(error);
}

FileStatus windows_status(const std::string& path) {
  int error = 0;
  HANDLE handle = open_handle(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, error);
  if (handle == INVALID_HANDLE_VALUE) {
    FileStatus status;
    status.error = error;
    return status;
  }
  const FileStatus status = status_of_handle(handle);
  CloseHandle(handle);
  return status;
}

FileStatus windows_status(int descriptor) {
  return status_of_handle(reinterpret_cast<HANDLE>(_get_osfhandle(descriptor)));
}

}  // namespace tbq

#endif
