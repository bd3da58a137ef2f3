#pragma once

#include "base/clock.h"
#include "base/io/fd.h"
#include "base/result.h"

#include <cstdint>
#include <functional>
#include <string>

namespace dt {

/// The lock of a setup's folder: jobs that use the folder share it, a setup has it alone.
///
/// It is a lock of an open file (fcntl(2), F_OFD_SETLK). flock(2) would not do: it frees a lock for
/// a moment while it changes it. Another setup could begin then, before the tasks of this one.
class SetupLock {
 public:
  enum class Kind : uint8_t { shared, alone };

  /// Opens the lock's file, and makes it where it is missing.
  static Result<SetupLock> open(const std::string& path);
  /// Returns false while others have the lock, and for a file that has been removed since.
  Result<bool> try_take(Kind kind);
  /// True if no process has the lock. Takes none, which others could notice.
  bool is_free() const;
  /// Makes a lock of this setup alone one that jobs share.
  Result<> share();
  /// True if the file is still the one at its path.
  bool is_current() const;

  /// Notes the time of this use by that of the file.
  void note_use() const;
  /// Writes the id of the job that sets up. Requires a lock of Kind::alone.
  Result<> write_job(const std::string& job);
  /// Returns the id of the job that last wrote it.
  std::string job() const;

  /// Returns the descriptor that keeps the lock.
  Fd release() { return std::move(file_); }

 private:
  SetupLock(std::string path, Fd file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  Fd file_;
};

/// The kinds of lock that a job can use, and its patience.
struct SetupWait {
  bool or_shared = false;  ///< one that jobs share will do, where one has it
  Duration timeout = {};
  /// Called once, when the lock is not free at first, with the job that last set up.
  std::function<void(const std::string& job)> on_wait = {};
};

/// A lock, and its kind.
struct HeldSetup {
  SetupLock lock;
  SetupLock::Kind kind = SetupLock::Kind::alone;
};

/// Takes the lock of this file. Fails with Errc::timeout when it is not free in time.
Result<HeldSetup> take_setup_lock(const std::string& path, const SetupWait& wait);

}  // namespace dt
