#pragma once

#include "base/crypto.h"
#include "base/io/fd.h"
#include "base/result.h"
#include "base/wall_time.h"
#include "launcher/sync/manifest.h"
#include "launcher/sync/store/content_writer.h"
#include "launcher/sync/store/locked_file.h"
#include "launcher/sync/store/store_folder.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace dt {

/// Whole files in `objects/` of the store, named by their SHA-256. Several jobs, also of hosts that
/// share the folder, may use it at once. While an ObjectStore lives, no other process removes
/// objects that were used in the last day.
class ObjectStore {
 public:
  static constexpr uint64_t bytes_max = uint64_t{10} << 30;

  /// Objects that were written before `trusted_since_ns`, in nanoseconds since 1970, may have been
  /// cut by a power loss. The default is the time at which this machine started.
  static Result<ObjectStore> open(const StoreFolder& store,
                                  std::optional<int64_t> trusted_since_ns = std::nullopt);

  /// True if the object is there and whole. Notes its use. One that may have been cut is read once,
  /// and a broken one is removed.
  bool has(const TreeEntry& entry) const;
  /// Returns the writer of a new object. It has its name when commit() succeeds.
  Result<ContentWriter> create(const TreeEntry& entry) const;
  /// Opens an object that has() found. Fails with Errc::not_found when it is gone.
  Result<Fd> open_object(const TreeEntry& entry) const;

  /// Ends the use by this job. Removes leftovers of killed jobs, and the objects that were not used
  /// for longest while all have more than `limit` bytes.
  void finish(WallClock::time_point now, uint64_t limit = bytes_max);

  const std::string& path() const { return path_; }

 private:
  explicit ObjectStore(std::string path) : path_(std::move(path)) {}

  std::string path_;
  Fd lock_ = {};
  int64_t trusted_since_ns_ = 0;
};

/// All objects of a store.
struct StoredObjects {
  std::string path;
  size_t count = 0;
  uint64_t bytes = 0;
  bool in_use = false;  ///< a running job may need them
};

StoredObjects list_objects(const std::string& store);
/// Removes all objects of a store, unless a running job may need them, and returns the removed
/// ones.
Result<StoredObjects> clear_objects(const std::string& store);

/// Counts or removes objects that killed jobs have begun to receive, unless a running job may
/// receive them.
Leftovers unfinished_objects(const std::string& store, LeftoverWork work);

/// The name of an object's file.
std::string object_name(const Digest& digest);

}  // namespace dt
