#pragma once

#include "base/result.h"
#include "launcher/sync/store/store_folder.h"

#include <string>

namespace dt {

/// Where a job wants its tree on this host.
struct SiteOrder {
  std::string job;          ///< the job's id, a file name
  std::string target = {};  ///< absolute, or below the home; empty: a tree of this job alone
  bool into = false;        ///< a target may have files that dtrain has not put there
  std::string home = {};    ///< absolute; for a target below it
  /// The tree's source, on the launcher's machine: the target may not be in it or above it.
  std::string source_root = {};
  /// Where other hosts find that they share the source, such as a home on NFS: a file that is below
  /// its root now. Empty: there is none.
  std::string source_marker = {};
};

/// The folders of a tree.
struct SitePlace {
  std::string root;   ///< of the tree
  std::string own;    ///< of its lock, index and journal: beside a job's own tree, in a target
  bool kept = false;  ///< a target, which outlives jobs
};

/// Returns the place that an order names, and makes nothing. Fails with Errc::input for a bad job
/// or target.
Result<SitePlace> find_place(const SiteOrder& order, const StoreFolder& store);

/// Makes the folders that are missing, but no tree of a job alone. Fails with Errc::input for a
/// target that is a file, that cannot be written, or that has files which dtrain has not put there
/// (without SiteOrder::into).
Result<> make_place(const SitePlace& place, const SiteOrder& order);

/// The names in SitePlace::own, beside the lock.
namespace site_files {
inline constexpr std::string_view index = "/index";
inline constexpr std::string_view journal = "/journal";
inline constexpr std::string_view staging = "/staging";
inline constexpr std::string_view old = "/old";    ///< a tree that is being removed
inline constexpr std::string_view left = "/left";  ///< the size of a tree that its job has left
}  // namespace site_files

/// The suffix of SitePlace::own for a tree of a job alone.
inline constexpr std::string_view own_suffix = ".own";

}  // namespace dt
