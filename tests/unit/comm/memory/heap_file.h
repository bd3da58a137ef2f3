#pragma once

#include "base/io/fd.h"
#include "comm/memory/shared_heap.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <utility>

namespace dt {

/// A file with a part for each task of a host, and the heaps of these tasks.
class HeapFile {
 public:
  static constexpr size_t begin = RangeList::huge_page_bytes;
  static constexpr size_t part_bytes_default = size_t{64} << 20;

  explicit HeapFile(int parts, size_t part_bytes = part_bytes_default)
      : memory_(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING)),
        parts_(parts),
        part_bytes_(part_bytes) {
    const size_t bytes = begin + part_bytes * static_cast<size_t>(parts);
    REQUIRE(ftruncate(memory_.get(), static_cast<off_t>(bytes)) == 0);
  }

  /// Returns a heap of that task, with mappings of its own.
  std::shared_ptr<SharedHeap> of(int part) const {
    return of(part, [] { return available_memory(); });
  }
  std::shared_ptr<SharedHeap> of(int part, AvailableMemory available) const {
    const SharedHeap::File file = {
        .fd = memory_.get(), .begin = begin, .part_bytes = part_bytes_, .parts = parts_};
    return std::make_shared<SharedHeap>(nullptr, file, part, std::move(available));
  }
  /// Makes the file end there; no allocation can extend it.
  void seal_at(size_t bytes) const {
    REQUIRE(ftruncate(memory_.get(), static_cast<off_t>(bytes)) == 0);
    REQUIRE(fcntl(memory_.get(), F_ADD_SEALS, F_SEAL_GROW) == 0);
  }
  /// The bytes that have memory.
  size_t backed() const {
    struct stat status = {};
    REQUIRE(fstat(memory_.get(), &status) == 0);
    return static_cast<size_t>(status.st_blocks) * 512;
  }

 private:
  Fd memory_;
  int parts_;
  size_t part_bytes_;
};

}  // namespace dt
