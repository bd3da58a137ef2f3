#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace dt {

/// The input of a child that shares our memory, and the place for its errno. The parent prepares
/// all of it before the clone, since the child may only make system calls.
struct ChildOrder {
  enum class Step : uint8_t { folder, binding, exec };  ///< names the failed call in the message
  const char* path = nullptr;
  char* const* arguments = nullptr;
  char* const* shell_arguments = nullptr;  ///< sh PATH ARGUMENT…: for scripts without #!
  char* const* environment = nullptr;
  const char* cwd = nullptr;  ///< null: inherited
  int fds[3] = {};            ///< become its descriptors 0, 1, 2; -1: inherited
  int kept = -1;              ///< stays open under its number; -1: none
  bool new_session = false;
  bool joins_group = false;
  bool handlers_dropped = false;  ///< the kernel has reset our signal handlers in the child
  int death_signal = 0;
  rlimit open_files = {};
  const unsigned long* cpu_mask = nullptr;  ///< null: inherited
  size_t cpu_mask_bytes = 0;
  pid_t parent = 0;
  int error = 0;
  Step failed = Step::exec;
};

/// Runs in the child between its clone and its exec, while the parent continues. It has its own
/// stack, in our memory. `order` points to its ChildOrder. Built without sanitizers: they do not
/// know this thread.
void child_main(void* order);

}  // namespace dt
