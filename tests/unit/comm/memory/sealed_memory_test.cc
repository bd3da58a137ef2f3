#include "comm/memory/sealed_memory.h"

#include <doctest/doctest.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace dt {
namespace {

constexpr size_t bytes = 3 * 4096;

std::optional<uint64_t> plenty() {
  return std::nullopt;
}

/// As under a container's filter that does not know this system call.
bool refuse_memfd_create() {
  std::array code = {sock_filter(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))),
                     sock_filter(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1)),
                     sock_filter(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS)),
                     sock_filter(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW))};
  const sock_fprog filter = {.len = code.size(), .filter = code.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

bool refuse_large_files() {
  const rlimit limit = {bytes - 1, bytes - 1};
  return setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

/// Returns the error of an allocation in a child with that restriction. Empty if there is none.
std::string error_in_child(bool (*restrict)()) {
  std::array<int, 2> ends = {};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (!restrict()) _exit(2);
    const auto memory = allocate_shared("shared memory for a test", bytes, plenty);
    const std::string text = memory ? "" : memory.error().message;
    _exit(write(ends[1], text.data(), text.size()) < 0 ? 1 : 0);
  }
  const Fd out(ends[0]);
  Fd(ends[1]).reset();
  std::string text(512, '\0');
  text.resize(static_cast<size_t>(std::max(read(out.get(), text.data(), text.size()), ssize_t{0})));
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  return text;
}

TEST_CASE("shared memory is allocated at once, and not sealed") {
  const Fd memory = allocate_shared("shared memory for a test", bytes, plenty).value();
  struct stat status = {};
  REQUIRE(fstat(memory.get(), &status) == 0);
  CHECK(static_cast<size_t>(status.st_blocks) * 512 == bytes);
  CHECK(sealed_size(memory.get()).error().code == Errc::protocol);
}

TEST_CASE("shared memory that is too large for the host is an error") {
  const auto little = [] { return std::optional<uint64_t>(bytes - 1); };
  const auto none = allocate_shared("shared memory for a test", bytes, little);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Errc::os);
  CHECK(none.error().message.find("shared memory for a test") != std::string::npos);
}

TEST_CASE("an error names TCP where a process may make no shared memory") {
  CHECK(error_in_child(refuse_memfd_create) ==
        "cannot make shared memory for a test: Function not implemented; use --transport tcp, "
        "which needs none");
  // Not SIGXFSZ.
  CHECK(error_in_child(refuse_large_files) ==
        "cannot make shared memory for a test: it has 12 KiB, and files may not be so large; raise "
        "the limit (ulimit -f), or use --transport tcp, which needs none");
}

}  // namespace
}  // namespace dt
