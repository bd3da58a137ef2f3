#include "launcher/sync/store/tree_staging.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "base/text.h"
#include "launcher/sync/store/file_copy.h"
#include "launcher/sync/store/folder_walk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <set>
#include <vector>

namespace dt {

namespace {

constexpr int read_flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

mode_t mode_of(const TreeEntry& entry) {
  return entry.executable ? 0777 : 0666;
}

/// An open file, if it is one.
struct OpenFile {
  Fd file;
  uint64_t size = 0;
  bool executable = false;
};

OpenFile open_file(const WalkedName& at) {
  OpenFile opened = {.file = Fd(::openat(at.folder, at.name, read_flags))};
  struct stat status = {};
  if (!opened.file || ::fstat(opened.file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return {};
  opened.size = static_cast<uint64_t>(status.st_size);
  opened.executable = (status.st_mode & S_IXUSR) != 0;
  return opened;
}

/// Copies a file, and returns true if the copy has the content of the entry. Leaves nothing
/// otherwise.
bool copy_content(int from, const std::string& path, const TreeEntry& entry) {
  const Fd to(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode_of(entry)));
  if (!to) return false;
  FileCopier copier;
  const bool copied =
      copier.copy(from, to.get(), entry.size) && ::lseek(to.get(), 0, SEEK_SET) == 0;
  const Result<Digest> digest = copied ? content_digest(to.get()) : Result<Digest>(Digest{});
  if (digest && *digest == entry.digest && flush_if_remote(to.get())) return true;
  ::unlink(path.c_str());
  return false;
}

}  // namespace

std::string staged_name(size_t number) {
  return format("{}", number);
}

Result<> TreeStaging::open(const Manifest& manifest, std::span<const size_t> numbers,
                           const Source& source) {
  if (is_open_) return {};
  const auto cannot = [this](std::string_view what) {
    return fail(Errc::os, format("cannot {} the folder {}: {}", what, printable_path(path_),
                                 errno_text(errno)));
  };
  TRY(remove_tree(left_path()));
  if (std::rename(path_.c_str(), left_path().c_str()) != 0 && errno != ENOENT)
    return cannot("rename");
  if (::mkdir(path_.c_str(), 0700) != 0) return cannot("make");
  is_open_ = true;
  Wanted wanted;
  for (const size_t number : numbers) {
    const TreeEntry& entry = manifest.entries[number];
    if (entry.kind == TreeEntry::Kind::file && entry.size > 0) wanted.emplace(entry.digest, number);
  }
  take_left(source, manifest, wanted);
  take_from(source, manifest, wanted);
  return remove_tree(left_path());
}

/// Renames files that a transfer has left, under other numbers, when it was cut.
void TreeStaging::take_left(const Source& source, const Manifest& manifest, const Wanted& wanted) {
  const Fd folder = open_folder(AT_FDCWD, left_path().c_str());
  if (!folder) return;
  const Result<std::vector<std::string>> names = names_in(folder.get());
  if (!names) return;
  std::set<uint64_t> sizes;
  for (const auto& [digest, number] : wanted)
    sizes.insert(manifest.entries[number].size);
  for (const std::string& name : *names) {
    const OpenFile left = open_file({.folder = folder.get(), .name = name.c_str()});
    if (!left.file || !sizes.contains(left.size)) continue;
    if (source.on_progress) source.on_progress();
    const Result<Digest> digest = content_digest(left.file.get());
    const auto found = digest ? wanted.find(*digest) : wanted.end();
    if (found == wanted.end() || manifest.entries[found->second].executable != left.executable)
      continue;
    const std::string path = format("{}/{}", path_, staged_name(found->second));
    if (::renameat(folder.get(), name.c_str(), AT_FDCWD, path.c_str()) == 0)
      numbers_.insert(*found);
  }
}

/// Copies files of the tree: an entry may have got another name.
void TreeStaging::take_from(const Source& source, const Manifest& manifest, const Wanted& wanted) {
  FolderWalk walk(source.root);
  for (const auto& [entry, facts] : source.known.placed) {
    const auto found = wanted.find(entry.digest);
    if (entry.kind != TreeEntry::Kind::file || found == wanted.end() ||
        numbers_.contains(entry.digest))
      continue;
    const Result<WalkedName> at = walk.enter(entry.path);
    const OpenFile there = at ? open_file(*at) : OpenFile();
    if (!there.file || there.size != entry.size) continue;
    if (source.on_progress) source.on_progress();
    const std::string path = format("{}/{}", path_, staged_name(found->second));
    if (copy_content(there.file.get(), path, manifest.entries[found->second]))
      numbers_.insert(*found);
  }
}

std::optional<size_t> TreeStaging::find(const Digest& content) const {
  const auto found = numbers_.find(content);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

Result<ContentWriter> TreeStaging::create(const Manifest& manifest, size_t number) const {
  const TreeEntry& entry = manifest.entries[number];
  const std::string name = staged_name(number);
  return ContentWriter::create(
      entry, {.folder = path_, .draft = name, .whole = name, .mode = mode_of(entry)});
}

void TreeStaging::add(const Manifest& manifest, size_t number) {
  numbers_.emplace(manifest.entries[number].digest, number);
}

void TreeStaging::clear_others() {
  std::set<std::string> contents;
  for (const auto& [digest, number] : numbers_)
    contents.insert(staged_name(number));
  const Fd folder = open_folder(AT_FDCWD, path_.c_str());
  const Result<std::vector<std::string>> names =
      folder ? names_in(folder.get()) : std::vector<std::string>();
  if (!names) return;
  for (const std::string& name : *names)
    if (!contents.contains(name)) ::unlinkat(folder.get(), name.c_str(), 0);
}

void TreeStaging::clear() {
  static_cast<void>(remove_tree(path_));
  static_cast<void>(remove_tree(left_path()));
  is_open_ = false;
  numbers_.clear();
}

}  // namespace dt
