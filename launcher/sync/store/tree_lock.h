#pragma once

#include "base/io/fd.h"
#include "base/result.h"

#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// A file lock that names its holder, for processes of this host and of hosts that share the file.
/// It ends with the last process that has the descriptor.
class TreeLock {
 public:
  /// Takes the lock of `folder` for a job. `what` is what it locks, for errors. Fails with
  /// Errc::refused, and the name of the holder, when another process has it.
  struct Request {
    std::string_view folder;
    std::string_view job;
    std::string_view what;
  };
  static Result<TreeLock> take(const Request& request);
  /// Takes a lock that is new, or that no process has. No other process finds a new one free.
  static Result<TreeLock> make(const Request& request);
  /// Takes a lock that exists and that no process has, and leaves the last holder's name there.
  static std::optional<TreeLock> take_if_free(const std::string& folder);

  explicit operator bool() const { return bool{file_}; }
  void release() { file_.reset(); }

  static constexpr std::string_view file_name = "lock";

 private:
  Result<> write_holder(const Request& request);

  Fd file_ = {};
};

}  // namespace dt
