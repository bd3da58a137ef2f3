#pragma once

#include "base/bytes.h"
#include "base/io/fd.h"
#include "base/result.h"

#include <string>

namespace dt {

/// A file that replaces another one whole or not at all, also when the machine loses its power. It
/// is written beside `path`, with ".unfinished-" and random digits behind that name, and commit()
/// renames it.
/// The destructor removes a file that is not committed. Errors contain errno's text.
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

 private:
  AtomicFile(std::string path, std::string draft, Fd file);

  std::string path_;
  std::string draft_;
  Fd file_;
};

}  // namespace dt
