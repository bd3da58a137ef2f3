#pragma once

#include "base/io/fd.h"
#include "launcher/protocol/task_error.h"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace dt {

/// A private folder (0700) of an agent, in which each of its tasks may write why it fails. It also
/// has the library that tasks preload. It is in /dev/shm if possible. The destructor removes it; if
/// the agent is killed, its keeper does.
class ErrorFolder {
 public:
  /// Returns null when no folder can be made. Tasks then have no place for their errors.
  static std::unique_ptr<ErrorFolder> make();
  /// Returns the path of a process's folder, whether it exists or not; empty: no such process.
  static std::string path_of(pid_t process);
  /// Removes a folder, if it exists.
  static void remove(const std::string& path);
  /// Removes the folders of this user's agents that were killed together with their keepers.
  static void remove_leftovers();

  ~ErrorFolder();
  ErrorFolder(const ErrorFolder&) = delete;
  ErrorFolder& operator=(const ErrorFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Returns the value of TORCHELASTIC_ERROR_FILE for a task. The file does not exist yet.
  std::string file_of(uint32_t local_index) const;
  /// Removes the error of the attempt before.
  void clear(uint32_t local_index) const;
  /// Returns the error that the task has written, if it can be parsed.
  std::optional<TaskError> read(uint32_t local_index) const;

 private:
  ErrorFolder(std::string path, Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  Fd lock_;  ///< held while the agent lives: an unlocked folder is a leftover
};

}  // namespace dt
