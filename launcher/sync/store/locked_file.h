#pragma once

#include "base/io/fd.h"
#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace dt {

/// Makes an empty file, and takes its lock (flock(2)). The file gets its name with the lock: no
/// process finds it without one while this one lives. Fails with Errc::refused where it exists.
/// Errors contain errno's text.
Result<Fd> make_locked_file(const std::string& path);

/// Opens a file, and takes its lock. Returns none if it is missing or another process has the lock.
/// Such a file belonged to a process that has died.
Fd take_free_lock(const std::string& path);

/// True if an open file is still the one at this path.
bool is_at(const Fd& file, const std::string& path);

/// How much killed jobs have left of one kind, or of all: what no process has a lock on.
struct Leftovers {
  size_t count = 0;
  uint64_t bytes = 0;

  void add(uint64_t size) {
    ++count;
    bytes += size;
  }
  void add(const Leftovers& others) {
    count += others.count;
    bytes += others.bytes;
  }
  bool operator==(const Leftovers&) const = default;
};

enum class LeftoverWork : uint8_t { count, remove };

}  // namespace dt
