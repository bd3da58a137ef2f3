#pragma once

#include "base/io/fd.h"
#include "launcher/protocol/task_error.h"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace dt {

/// A private folder (0700) of an agent, in memory where there is such a file system, in which each
/// of its tasks may say why it fails. It goes with this object; if the agent is killed, its keeper
/// removes it.
class ErrorFolder {
 public:
  /// Null when none can be made: then nobody can say anything, and that is all.
  static std::unique_ptr<ErrorFolder> make();
  /// Where a process has its folder, or would have; empty: it cannot be known.
  static std::string path_of(pid_t process);
  /// If it is there.
  static void remove(const std::string& path);
  /// Those of this user's agents that were killed together with who would have removed them.
  static void remove_leftovers();

  ~ErrorFolder();
  ErrorFolder(const ErrorFolder&) = delete;
  ErrorFolder& operator=(const ErrorFolder&) = delete;

  const std::string& path() const { return path_; }
  /// For TORCHELASTIC_ERROR_FILE; nothing is there yet.
  std::string file_of(uint32_t local_index) const;
  /// What the task has written, if it makes sense.
  std::optional<TaskError> read(uint32_t local_index) const;

 private:
  ErrorFolder(std::string path, Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  Fd lock_;  ///< for as long as the agent lives
};

}  // namespace dt
