#pragma once

#include "launcher/mounts/mount_namespace.h"

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace dt {

/// The end of a test in a namespace of its own: mounts of a test must not reach this machine.
enum class NamespaceTest { passed, failed, not_allowed };

/// Runs the function in a fork, in a new mount namespace; with `as_user` in one of a user
/// namespace.
inline NamespaceTest in_own_namespace(const std::function<bool()>& test, bool as_user = false) {
  constexpr int not_allowed = 77;
  const pid_t pid = ::fork();
  if (pid == 0) {
    const bool entered = (!as_user && enter_root_namespace().value_or(false)) ||
                         (as_user && enter_user_namespace().has_value());
    _exit(!entered ? not_allowed : test() ? 0 : 1);
  }
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
    return NamespaceTest::failed;
  if (WEXITSTATUS(status) == not_allowed) return NamespaceTest::not_allowed;
  return WEXITSTATUS(status) == 0 ? NamespaceTest::passed : NamespaceTest::failed;
}

}  // namespace dt
