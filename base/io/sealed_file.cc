#include "base/io/sealed_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>

namespace dt {

namespace {
constexpr int size_seals = F_SEAL_SHRINK | F_SEAL_GROW;
}  // namespace

bool may_make(uint64_t bytes) {
  rlimit limit = {};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= bytes;
}

Result<> seal_size(int fd) {
  if (fcntl(fd, F_ADD_SEALS, size_seals) < 0) return fail_errno("cannot seal shared memory");
  return {};
}

Result<uint64_t> sealed_size(int fd) {
  // First, so that nobody can change the size afterwards.
  const int have = fcntl(fd, F_GET_SEALS);
  if (have < 0 || (have & size_seals) != size_seals)
    return fail(Errc::protocol, "the shared memory of this host is not sealed");
  struct stat status = {};
  if (fstat(fd, &status) < 0) return fail_errno("cannot inspect shared memory");
  return static_cast<uint64_t>(status.st_size);
}

Result<std::byte*> map_shared(int fd, size_t bytes) {
  void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) {
    const Errc code = errno == ENOMEM ? Errc::out_of_memory : Errc::os;
    return fail(code, "cannot map shared memory: " + errno_text(errno));
  }
  // If the kernel refuses, the check of the process id at every call remains.
  madvise(base, bytes, MADV_DONTFORK);
  return static_cast<std::byte*>(base);
}

}  // namespace dt
