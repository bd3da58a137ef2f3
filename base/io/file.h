#pragma once

#include "base/bytes.h"
#include "base/result.h"

#include <cstddef>
#include <string>
#include <utility>

namespace dt {

/// A file's text, at most `bytes_max`; pipes work too. The error is errno's text or the size.
/// Errc::not_found where there is no such file.
Result<std::string> read_text_file(const std::string& path, size_t bytes_max);
/// The rest of an open file, as above.
Result<std::string> read_text(int fd, size_t bytes_max);

/// A file's bytes, read from the disk when they are looked at. For files that nobody writes to,
/// such as a program that runs: where one gets shorter, looking at what it had kills the process.
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
