#pragma once

#include "base/bytes.h"
#include "base/io/fd.h"
#include "base/result.h"

#include <cstddef>
#include <string>
#include <utility>

namespace dt {

/// Returns a file's text, at most `bytes_max`; the file may be a pipe. Fails with Errc::not_found
/// when there is no such file. Other errors contain errno's text, or the size.
Result<std::string> read_text_file(const std::string& path, size_t bytes_max);
/// Returns the rest of an open file, as above.
Result<std::string> read_text(int fd, size_t bytes_max);

/// Opens a regular file for reading, and waits for no FIFO. Fails with Errc::not_found when there
/// is no such file. Fails with Errc::refused for one of another user than this one and root, if its
/// folder is open to others: each of them could have put it there. Errors contain errno's text, or
/// the reason.
Result<Fd> open_trusted_file(const std::string& path);

/// Returns the text of a file that holds a secret, at most `bytes_max`. Fails with Errc::input
/// unless it is a regular file that is this user's and readable by it alone, or root's, and that
/// others may not write to. Errors contain the reason, without the path.
Result<std::string> read_secret_file(const std::string& path, size_t bytes_max);

/// True for the path of a folder; a link to one is no folder.
bool names_folder(const std::string& path);

/// Makes a folder and its parents, for this user alone; existing ones stay as they are.
Result<> make_folders(const std::string& path);

/// A file of open_trusted_file(), mapped into memory, for files that do not change, such as a
/// running program. If a file becomes shorter, an access to its lost bytes kills the process.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedFile();

  ByteSpan bytes() const { return bytes_; }

 private:
  explicit MappedFile(ByteSpan bytes) : bytes_(bytes) {}
  ByteSpan bytes_;
};

}  // namespace dt
