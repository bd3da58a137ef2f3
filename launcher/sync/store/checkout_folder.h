#pragma once

#include "base/io/fd.h"
#include "base/result.h"
#include "base/wall_time.h"
#include "launcher/sync/store/locked_file.h"
#include "launcher/sync/store/store_folder.h"

#include <string>
#include <string_view>
#include <utility>

namespace dt {

/// The folder on the launcher's machine into which git puts the files of a URL. It is removed with
/// this object.
class CheckoutFolder {
 public:
  /// Makes the job's folder below `checkouts`, empty and for this user alone, and locks it.
  static Result<CheckoutFolder> make(const StoreFolder& store, std::string_view job);
  CheckoutFolder(CheckoutFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
  CheckoutFolder& operator=(CheckoutFolder&&) = delete;
  ~CheckoutFolder();

  const std::string& path() const { return path_; }

 private:
  CheckoutFolder(std::string path, Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  Fd lock_;
};

/// Counts or removes the check-outs below a store that no launcher has locked.
Leftovers left_checkouts(const std::string& store, LeftoverWork work);

/// Removes folders that killed launchers have left: older than a day, and without a lock. Requires
/// the path of one of them.
void remove_old_checkouts(const std::string& folder, WallClock::time_point now);

}  // namespace dt
