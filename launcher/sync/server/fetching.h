#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "launcher/sync/fetch/fetch_target.h"
#include "launcher/sync/messages.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dt {

/// The files of --fetch: which, and where they go.
struct FetchWish {
  std::vector<std::string> patterns;
  FetchOrder order;
};

/// Takes the files that --fetch brings back, and puts them into their folder.
class Fetching {
 public:
  explicit Fetching(FetchWish wish) : wish_(std::move(wish)) {}

  const std::vector<std::string>& patterns() const { return wish_.patterns; }
  /// The name of the host that has the files, for warnings.
  void set_host(std::string name) { host_ = std::move(name); }
  /// Takes a message of the host that has the files. A file that cannot get its place alone is left
  /// out. After another failure all further ones are ignored.
  Result<> take(SyncMessage type, ByteSpan payload);
  /// Copies the files from a tree on this machine.
  Result<> copy_from(const std::string& root);
  /// Returns warnings for the user, at the end: a failure, changed files, those that cannot be read
  /// or are left out, and patterns that match none.
  std::vector<std::string> warnings() const;

 private:
  Result<> put(SyncMessage type, ByteSpan payload);
  Result<> put_piece(SyncMessage type, ByteSpan payload);

  FetchWish wish_;
  std::optional<FetchTarget> target_;
  std::string host_ = "rank 0's host";
  bool skips_ = false;   ///< the file that has begun is left out
  SomeEntries refused_;  ///< files that cannot get their place here
  Fetched missing_;      ///< by the host
  std::optional<Error> failure_;
};

}  // namespace dt
