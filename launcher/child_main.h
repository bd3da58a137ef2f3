#pragma once

#include <sys/resource.h>
#include <sys/types.h>

namespace dt {

/// What a child reads while it shares our memory, and where it leaves its errno. Everything is made
/// before the clone: the child may only make system calls.
struct ChildOrder {
  const char* path = nullptr;
  char* const* arguments = nullptr;
  char* const* shell_arguments = nullptr;  ///< sh PATH ARGUMENT…: for scripts without #!
  char* const* environment = nullptr;
  const char* cwd = nullptr;  ///< null: ours
  int fds[3] = {};            ///< its descriptors 0, 1, 2; -1: ours
  bool new_session = false;
  int death_signal = 0;
  rlimit open_files = {};
  pid_t parent = 0;
  int error = 0;
  bool in_chdir = false;  ///< the error is the folder's, not the program's
};

/// What the child runs between its clone and its exec, on its own stack, in our memory, while we go
/// on; the argument is its ChildOrder. Built without sanitizers, which know nothing of this thread.
void child_main(void* order);

}  // namespace dt
