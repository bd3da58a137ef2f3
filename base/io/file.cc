#include "base/io/file.h"

#include "base/format.h"
#include "base/text.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace dt {

namespace {

Result<Fd> open_to_read(const std::string& path, int flags) {
  Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | flags));
  if (file) return file;
  const bool missing = errno == ENOENT || errno == ENOTDIR;
  return fail(missing ? Errc::not_found : Errc::os, errno_text(errno));
}

}  // namespace

Result<std::string> read_text_file(const std::string& path, size_t bytes_max) {
  const Fd file = TRY(open_to_read(path, 0));
  return read_text(file.get(), bytes_max);
}

Result<Fd> open_trusted_file(const std::string& path) {
  Fd file = TRY(open_to_read(path, O_NONBLOCK));
  struct stat status = {};
  if (fstat(file.get(), &status) != 0) return fail(Errc::os, errno_text(errno));
  if (!S_ISREG(status.st_mode)) return fail(Errc::input, "it is not a regular file");
  if (status.st_uid == 0 || status.st_uid == geteuid()) return file;
  const std::string parent = std::filesystem::path(path).parent_path().string();
  struct stat folder = {};
  if (stat(parent.empty() ? "." : parent.c_str(), &folder) != 0)
    return fail(Errc::os, errno_text(errno));
  if ((folder.st_mode & (S_IWGRP | S_IWOTH)) == 0) return file;
  return fail(Errc::refused, format("it belongs to the user {}, and other users may write to its "
                                    "folder; copy it to a folder of your own",
                                    status.st_uid));
}

Result<std::string> read_secret_file(const std::string& path, size_t bytes_max) {
  const auto refuse = [](const std::string& why) { return fail(Errc::input, why); };
  const auto file = open_to_read(path, O_NONBLOCK);
  if (!file) return refuse(file.error().message);
  struct stat status = {};
  if (fstat(file->get(), &status) != 0) return refuse(errno_text(errno));
  if (!S_ISREG(status.st_mode)) return refuse("it is no regular file");
  if (status.st_uid != geteuid() && status.st_uid != 0)
    return refuse(format("it belongs to the user {}, not to you or root", status.st_uid));
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return refuse("other users may write to it; `chmod 600` it, and make a new token");
  if (status.st_uid != 0 && (status.st_mode & (S_IRGRP | S_IROTH)) != 0)
    return refuse("other users may read it; `chmod 600` it, and make a new token");
  auto text = read_text(file->get(), bytes_max);
  if (!text) return refuse(text.error().message);
  return text;
}

Result<std::string> read_text(int fd, size_t bytes_max) {
  std::string text;
  while (text.size() <= bytes_max) {
    // Most files are short, and each new page of memory costs more than the read.
    constexpr size_t step_min = size_t{4} << 10;
    constexpr size_t step_max = size_t{64} << 10;
    const size_t before = text.size();
    const size_t step = std::clamp(before, step_min, step_max);
    text.resize(before + step);
    const ssize_t got = read(fd, text.data() + before, step);
    const int error = errno;
    text.resize(before + static_cast<size_t>(got > 0 ? got : 0));
    if (got == 0) return text;
    if (got < 0 && error != EINTR) return fail(Errc::os, errno_text(error));
  }
  return fail(Errc::input, format("it is larger than {} MB", bytes_max >> 20));
}

namespace {

Result<> make_folder(const std::string& path) {
  constexpr size_t shown_bytes_max = 1000;
  if (::mkdir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST) return {};
  return fail(Errc::os, format("cannot make {}: {}", shell_quote(printable(path, shown_bytes_max)),
                               errno_text(errno)));
}

}  // namespace

bool names_folder(const std::string& path) {
  struct stat status = {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<> make_folders(const std::string& path) {
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
    TRY(make_folder(path.substr(0, at)));
  return make_folder(path);
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  const Fd file = TRY(open_trusted_file(path));
  struct stat status = {};
  if (fstat(file.get(), &status) != 0) return fail(Errc::os, errno_text(errno));
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return MappedFile({});
  void* const at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (at == MAP_FAILED) return fail(Errc::os, errno_text(errno));
  return MappedFile({static_cast<const std::byte*>(at), size});
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace dt
