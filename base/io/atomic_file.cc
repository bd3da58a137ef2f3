#include "base/io/atomic_file.h"

#include "base/crypto.h"
#include "base/text.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace dt {

namespace {

tl::unexpected<Error> last_error() {
  return fail(Errc::os, errno_text(errno));
}

/// Makes the new name of a file permanent.
Result<> sync_folder_of(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const Fd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened || ::fsync(opened.get()) != 0) return last_error();
  return {};
}

}  // namespace

AtomicFile::AtomicFile(std::string path, std::string draft, Fd file)
    : path_(std::move(path)), draft_(std::move(draft)), file_(std::move(file)) {
}

Result<AtomicFile> AtomicFile::create(std::string path) {
  const std::string suffix = TRY(random_name(4));
  std::string draft = path + ".unfinished-" + suffix;
  Fd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file) return last_error();
  return AtomicFile(std::move(path), std::move(draft), std::move(file));
}

AtomicFile::~AtomicFile() {
  if (file_) ::unlink(draft_.c_str());
}

Result<> AtomicFile::write(ByteSpan bytes) const {
  return write_all(file_.get(), bytes);
}

Result<> AtomicFile::commit() {
  if (::fsync(file_.get()) != 0) return last_error();
  if (std::rename(draft_.c_str(), path_.c_str()) != 0) return last_error();
  file_.reset();
  return sync_folder_of(path_);
}

}  // namespace dt
