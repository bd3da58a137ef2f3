#pragma once

#include "base/bytes.h"
#include "base/io/fd.h"
#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace dt {

/// Memory that processes of one user on a host share: an unnamed file. Its size is sealed, and the
/// kernel frees it with its last process.
class CpuSharedMemory {
 public:
  /// Names the memory to other processes, while its first one has it.
  struct Handle {
    int32_t process = 0;
    int32_t descriptor = 0;
    uint64_t file = 0;  ///< its inode
    uint64_t bytes = 0;
  };

  /// Fails with Errc::out_of_memory when the process has no place for it, or may not make a file
  /// of that size.
  static Result<std::shared_ptr<CpuSharedMemory>> create(size_t bytes);
  /// Fails with Errc::not_found when the other process has the memory no more.
  static Result<std::shared_ptr<CpuSharedMemory>> open(const Handle& handle);
  CpuSharedMemory(const CpuSharedMemory&) = delete;
  CpuSharedMemory& operator=(const CpuSharedMemory&) = delete;
  ~CpuSharedMemory();

  std::byte* at() const { return at_; }
  size_t bytes() const { return bytes_; }
  Result<Handle> handle() const;

 private:
  CpuSharedMemory(Fd file, size_t bytes) : file_(std::move(file)), bytes_(bytes) {}
  Result<> map();

  Fd file_;
  size_t bytes_;
  std::byte* at_ = nullptr;  ///< null: not mapped
};

Bytes encode(const CpuSharedMemory::Handle& handle);
/// Fails with Errc::protocol for bytes that no process sends.
Result<CpuSharedMemory::Handle> decode_cpu_memory_handle(ByteSpan bytes);

}  // namespace dt
