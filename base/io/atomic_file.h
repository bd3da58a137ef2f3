#pragma once

#include "base/bytes.h"
#include "base/io/fd.h"
#include "base/result.h"

#include <string>
#include <string_view>

namespace dt {

/// A file that replaces another one whole or not at all, also when the machine loses its power. It
/// is written beside `path`, with ".unfinished-" and random digits behind that name, and commit()
/// renames it.
/// The destructor removes a file that is not committed. The next create() of the same path removes
/// those of processes that have died. Errors contain errno's text.
class AtomicFile {
 public:
  /// The mode is 0666 without the bits of the umask.
  static Result<AtomicFile> create(std::string path);
  AtomicFile(AtomicFile&&) noexcept = default;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  const std::string& path() const { return path_; }
  Result<> write(ByteSpan bytes) const;
  /// Returns when the file has its name and both are on the disk.
  Result<> commit();
  /// The same without waiting for the disk, for files whose readers notice torn contents. Only a
  /// loss of power can tear them.
  Result<> commit_without_sync();

 private:
  AtomicFile(std::string path, std::string draft, Fd file);

  std::string path_;
  std::string draft_;
  Fd file_;
};

/// Removes drafts of AtomicFile whose processes have died. Their paths begin with `beginning`, and
/// end with `end` before ".unfinished-". A process that lives holds a lock on its draft.
void remove_abandoned_drafts(const std::string& beginning, std::string_view end);

}  // namespace dt
