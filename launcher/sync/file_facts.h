#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace dt {

/// The facts by which the content of a file is known to be the same as before. Times are those of
/// lstat(2), in nanoseconds. Each write changes them, and a file that replaces another one has
/// another inode.
struct FileFacts {
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  bool operator==(const FileFacts&) const = default;
};

inline FileFacts facts_of(const struct stat& status) {
  constexpr int64_t second_ns = 1'000'000'000;
  return {.inode = status.st_ino,
          .size = static_cast<uint64_t>(status.st_size),
          .mtime_ns = status.st_mtim.tv_sec * second_ns + status.st_mtim.tv_nsec,
          .ctime_ns = status.st_ctim.tv_sec * second_ns + status.st_ctim.tv_nsec};
}

}  // namespace dt
