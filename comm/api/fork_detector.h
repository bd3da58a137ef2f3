#pragma once

#include <sys/types.h>

namespace dt {

/// Detects a fork of the process that made it, without a system call. It owns a page that the
/// kernel clears in every child. If the kernel has no such pages, it compares process numbers.
class ForkDetector {
 public:
  enum class Method { page, process_number };
  explicit ForkDetector(Method method = Method::page);
  ForkDetector(const ForkDetector&) = delete;
  ForkDetector& operator=(const ForkDetector&) = delete;
  ~ForkDetector();

  /// True in a child of that process, and in all descendants of the child.
  bool forked() const;

 private:
  volatile unsigned char* page_ = nullptr;  ///< null: the process number is compared
  pid_t process_;
};

}  // namespace dt
