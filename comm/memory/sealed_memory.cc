#include "comm/memory/sealed_memory.h"

#include "base/format.h"
#include "base/io/blocked_signals.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <optional>
#include <utility>

namespace dt {

namespace {
constexpr const char* instead_of_shared = "use --transport tcp, which needs none";
}  // namespace

Result<Fd> allocate_shared(const std::string& what, size_t bytes,
                           const AvailableMemory& available) {
  // The kernel ends processes when a limit is reached, so what it has left is compared first.
  const std::optional<uint64_t> have = available();
  if (have && bytes > *have) return too_little_memory(what, bytes, have);
  Fd memory(memfd_create("dtrain", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory)  // as under a seccomp filter that does not know memfd_create
    return fail(Errc::os,
                format("cannot make {}: {}; {}", what, errno_text(errno), instead_of_shared));
  const int error = allocate_in(memory.get(), 0, bytes);
  if (error == EFBIG) {
    return fail(Errc::os, format("cannot make {}: it has {} KiB, and files may not be so large; "
                                 "raise the limit (ulimit -f), or {}",
                                 what, bytes >> 10, instead_of_shared));
  }
  if (error == ENOSPC || error == ENOMEM) return too_little_memory(what, bytes, have);
  if (error != 0)
    return fail_errno(format("cannot allocate {} KiB of {}", bytes >> 10, what), error);
  return memory;
}

int allocate_in(int fd, size_t begin, size_t bytes) {
  if (!may_make(begin + bytes)) return EFBIG;
  // A signal would interrupt it with nothing done, and a profiler's timer sends one every few
  // milliseconds.
  const BlockedSignals blocked;
  return posix_fallocate(fd, static_cast<off_t>(begin), static_cast<off_t>(bytes));
}

}  // namespace dt
