#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace dt {

/// What a child reads while it shares our memory, and where it leaves its errno. Everything is made
/// before the clone: the child may only make system calls.
struct ChildOrder {
  enum class Step : uint8_t { folder, binding, exec };  ///< what can fail, for words about it
  const char* path = nullptr;
  char* const* arguments = nullptr;
  char* const* shell_arguments = nullptr;  ///< sh PATH ARGUMENT…: for scripts without #!
  char* const* environment = nullptr;
  const char* cwd = nullptr;  ///< null: ours
  int fds[3] = {};            ///< its descriptors 0, 1, 2; -1: ours
  bool new_session = false;
  int death_signal = 0;
  rlimit open_files = {};
  const unsigned long* cpu_mask = nullptr;  ///< null: ours
  size_t cpu_mask_bytes = 0;
  pid_t parent = 0;
  int error = 0;
  Step failed = Step::exec;
};

/// What the child runs between its clone and its exec, on its own stack, in our memory, while we go
/// on; the argument is its ChildOrder. Built without sanitizers, which know nothing of this thread.
void child_main(void* order);

}  // namespace dt
