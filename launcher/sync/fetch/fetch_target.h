#pragma once

#include "base/bytes.h"
#include "base/io/fd.h"
#include "base/result.h"
#include "launcher/sync/fetch/fetch_source.h"
#include "launcher/sync/file_facts.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {

/// Where --fetch puts files on the launcher's machine, and how changes since the start are noticed.
struct FetchOrder {
  std::string folder;  ///< the tree here, or --fetch-to, which is made if it is missing
  std::string job;     ///< its id
  /// Files below the folder at the start of the job.
  std::map<std::string, FileFacts> at_start = {};
  /// Another file has changed since the start if its times are later, in nanoseconds since 1970.
  int64_t started_ns = 0;
};

/// Puts files, one after the other, into a folder here, by temporary name and rename. A file that
/// changed since the start stays, and the new one gets ".dtrain-JOB" behind its name. Links come as
/// links. No link is followed below the folder.
class FetchTarget {
 public:
  static Result<FetchTarget> open(FetchOrder order);
  FetchTarget(FetchTarget&&) noexcept = default;
  FetchTarget& operator=(FetchTarget&&) = delete;
  ~FetchTarget() { drop(); }

  /// Begins a file or a link, and makes its folders. Drops one that was not committed. Fails with
  /// Errc::refused where a name here keeps only this one out, and for a link that leaves the
  /// folder.
  Result<> begin(const FetchedFile& file);
  Result<> write(ByteSpan bytes);
  /// Gives the file its name, which it returns. Fails with Errc::refused where a folder has it.
  Result<std::string> commit();
  /// The path of the file that has begun.
  const std::string& path() const { return path_; }
  /// Removes a file that was not committed.
  void drop();

  /// One warning about all files that have changed. Empty if there is none.
  std::string warning() const;

 private:
  explicit FetchTarget(FetchOrder order) : order_(std::move(order)) {}
  Result<> make_link(const FetchedFile& link);
  bool is_real_folder(std::string_view path) const;
  bool has_changed(const std::string& path, const char* name) const;

  FetchOrder order_;
  Fd root_ = {};
  std::string path_ = {};    ///< of the file that has begun
  Fd parent_ = {};           ///< its folder
  std::string draft_ = {};   ///< its name until commit(); empty: none has begun
  std::string target_ = {};  ///< of a link
  Fd file_ = {};             ///< none for a link
  std::vector<std::string> changed_ = {};
};

}  // namespace dt
