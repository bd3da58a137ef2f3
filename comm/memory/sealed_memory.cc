#include "comm/memory/sealed_memory.h"

#include "base/format.h"
#include "base/io/blocked_signals.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <utility>

namespace dt {

namespace {
constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW;
}  // namespace

Result<Fd> allocate_shared(const std::string& what, size_t bytes,
                           const AvailableMemory& available) {
  // The kernel ends processes when a limit is reached, so what it has left is compared first.
  const std::optional<uint64_t> have = available();
  if (have && bytes > *have) return too_little_memory(what, bytes, have);
  Fd memory(memfd_create("dtrain", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) return fail_errno("cannot make shared memory");
  const int error = allocate_in(memory.get(), 0, bytes);
  if (error == ENOSPC || error == ENOMEM) return too_little_memory(what, bytes, have);
  if (error != 0)
    return fail_errno(format("cannot allocate {} KiB of {}", bytes >> 10, what), error);
  return memory;
}

int allocate_in(int fd, size_t begin, size_t bytes) {
  // A signal would interrupt it with nothing done, and a profiler's timer sends one every few
  // milliseconds.
  const BlockedSignals blocked;
  return posix_fallocate(fd, static_cast<off_t>(begin), static_cast<off_t>(bytes));
}

Result<> seal_size(int fd) {
  if (fcntl(fd, F_ADD_SEALS, seals) < 0) return fail_errno("cannot seal shared memory");
  return {};
}

Result<uint64_t> sealed_size(int fd) {
  // First, so that nobody can change the size afterwards.
  const int have = fcntl(fd, F_GET_SEALS);
  if (have < 0 || (have & seals) != seals)
    return fail(Errc::protocol, "the shared memory of this host is not sealed");
  struct stat status = {};
  if (fstat(fd, &status) < 0) return fail_errno("cannot look at shared memory");
  return static_cast<uint64_t>(status.st_size);
}

Result<std::byte*> map_shared(int fd, size_t bytes) {
  void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return fail_errno("cannot map shared memory");
  // If the kernel refuses, the check of the process id at every call remains.
  madvise(base, bytes, MADV_DONTFORK);
  return static_cast<std::byte*>(base);
}

}  // namespace dt
