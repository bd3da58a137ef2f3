#include "launcher/sync/fetch/fetch_target.h"

#include "base/crypto.h"
#include "base/format.h"
#include "base/text.h"
#include "launcher/sync/store/file_copy.h"
#include "launcher/sync/store/folder_walk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace dt {

namespace {

constexpr size_t names_shown = 3;
/// The kernel's times lag behind the clock by up to one of its ticks.
constexpr int64_t tick_ns = 10'000'000;

tl::unexpected<Error> cannot_fetch(std::string_view path, std::string_view why) {
  return fail(Errc::os, format("cannot fetch {}: {}", printable_path(path), why));
}

std::string fetched_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

Result<FetchTarget> FetchTarget::open(FetchOrder order) {
  std::error_code failed;
  std::filesystem::create_directories(order.folder, failed);
  FetchTarget target(std::move(order));
  // The folder's own name may be a link: the user has named it.
  target.root_ = Fd(::open(target.order_.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (target.root_) return target;
  return fail(Errc::input, format("--fetch cannot write to {}: {}",
                                  printable_path(target.order_.folder), errno_text(errno)));
}

Result<> FetchTarget::begin(const FetchedFile& file) {
  drop();
  path_ = file.path;
  target_ = file.target;
  FolderWalk walk(root_.get());
  const Result<WalkedName> at = walk.make(path_);
  if (!at && at.error().code == Errc::refused) {
    return fail(Errc::refused, format("{} is a link or a file here, which is not followed; choose "
                                      "another folder with --fetch-to",
                                      printable_path(walk.blocked())));
  }
  if (!at) return cannot_fetch(path_, at.error().message);
  parent_ = TRY(duplicate(at->folder));
  const std::string random = TRY(random_name(8));
  draft_ = ".dtrain-" + random;
  if (!target_.empty()) return make_link(file);
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  file_ = Fd(::openat(parent_.get(), draft_.c_str(), flags, file.executable ? 0777 : 0666));
  if (file_) return {};
  draft_.clear();
  return cannot_fetch(path_, errno_text(errno));
}

Result<> FetchTarget::make_link(const FetchedFile& link) {
  // A name that is no folder yet may become a link.
  const std::string escape = link_escape(
      entry_of_link(link), [this](std::string_view path) { return !is_real_folder(path); });
  std::string fault = escape.empty() ? "" : link_fault(link.target, escape);
  if (link.target.find('\0') != std::string::npos) fault = "a link to a name with a NUL";
  if (!fault.empty()) {
    draft_.clear();
    return fail(Errc::refused, fault);
  }
  if (::symlinkat(link.target.c_str(), parent_.get(), draft_.c_str()) == 0) return {};
  const int number = errno;
  draft_.clear();
  return cannot_fetch(path_, errno_text(number));
}

/// No fetched link can take the place of a folder.
bool FetchTarget::is_real_folder(std::string_view path) const {
  const std::string wanted(path);
  FolderWalk walk(root_.get());
  const Result<WalkedName> at = walk.enter(wanted);
  struct stat status = {};
  return at && ::fstatat(at->folder, at->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(status.st_mode);
}

Result<> FetchTarget::write(ByteSpan bytes) {
  if (!file_) return fail(Errc::protocol, "bytes of no file");
  while (!bytes.empty()) {
    const ssize_t n = ::write(file_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot_fetch(path_, errno_text(errno));
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

bool FetchTarget::has_changed(const std::string& path, const char* name) const {
  struct stat status = {};
  if (::fstatat(parent_.get(), name, &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
  const FileFacts facts = facts_of(status);
  const auto known = order_.at_start.find(path);
  // Links have no facts at the start.
  if (known != order_.at_start.end() && known->second != FileFacts{}) return known->second != facts;
  return std::max(facts.mtime_ns, facts.ctime_ns) + tick_ns > order_.started_ns;
}

Result<std::string> FetchTarget::commit() {
  if (draft_.empty()) return fail(Errc::protocol, "the end of no file");
  const Result<> flushed = file_ ? flush_if_remote(file_.get()) : Result<>();
  if (!flushed) return cannot_fetch(path_, flushed.error().message);
  std::string path = path_;
  const std::string name = fetched_name(path);
  if (!target_.empty() && has_target({.folder = parent_.get(), .name = name.c_str()}, target_)) {
    drop();
    return path;
  }
  const bool changed = has_changed(path, name.c_str());
  if (changed) path += ".dtrain-" + order_.job;
  if (::renameat(parent_.get(), draft_.c_str(), parent_.get(), fetched_name(path).c_str()) != 0) {
    if (errno != EISDIR) return cannot_fetch(path, errno_text(errno));
    return fail(Errc::refused, "it is a folder here; choose another folder with --fetch-to");
  }
  file_.reset();
  draft_.clear();
  if (changed) changed_.push_back(path_);
  return path;
}

void FetchTarget::drop() {
  if (!draft_.empty()) ::unlinkat(parent_.get(), draft_.c_str(), 0);
  draft_.clear();
  file_.reset();
}

std::string FetchTarget::warning() const {
  if (changed_.empty()) return {};
  std::string names;
  for (size_t i = 0; i < std::min(changed_.size(), names_shown); ++i)
    names += (i == 0 ? "" : ", ") + printable(changed_[i]);
  if (changed_.size() > names_shown) names += ", …";
  return format(
      "{} in {} changed while the job ran; --fetch put {} beside, with .dtrain-{} behind "
      "the name: {}",
      changed_.size() == 1 ? "one file" : format("{} files", changed_.size()),
      printable_path(order_.folder),
      changed_.size() == 1 ? "its new content" : "their new contents", order_.job, names);
}

}  // namespace dt
