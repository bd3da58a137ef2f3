#include "launcher/sync/store/tree_writer.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "base/text.h"
#include "launcher/sync/store/folder_walk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

namespace dt {

namespace {

using Kind = TreeEntry::Kind;

/// A caller hears of each so many entries.
constexpr size_t entries_a_report = 256;
tl::unexpected<Error> cannot_make(const TreeEntry& entry, std::string_view folder,
                                  std::string_view why) {
  return fail(Errc::os, format("cannot make {} in {}: {}", printable(entry.path),
                               printable_path(folder), why));
}

}  // namespace

void TreeWriter::count() {
  ++done_;
  const size_t all = manifest_.entries.size();
  if (on_progress_ && (done_ % entries_a_report == 0 || done_ == all)) on_progress_({done_, all});
}

Result<FileFacts> TreeWriter::make_file(const TreeEntry& entry, const WalkedName& at,
                                        const Fd& content) {
  const mode_t mode = entry.executable ? 0777 : 0666;
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const Fd file(::openat(at.folder, at.name, flags, mode));
  if (!file) return fail(Errc::os, errno_text(errno));
  if (entry.size > 0) {
    const Result<> copied = copier_.copy(content.get(), file.get(), entry.size);
    if (!copied && copied.error().code == Errc::not_found) {
      return fail(Errc::not_found,
                  format("the content of {} that this host keeps is broken; run again",
                         printable(entry.path)));
    }
    if (!copied) return tl::unexpected(copied.error());
    TRY(flush_if_remote(file.get()));
  }
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return fail(Errc::os, errno_text(errno));
  return facts_of(status);
}

Result<PlacedEntry> TreeWriter::make(const TreeEntry& entry, const WalkedName& at) {
  PlacedEntry placed = {.entry = entry, .facts = {}};
  if (entry.kind == Kind::file) {
    Fd content;
    if (entry.size > 0) content = TRY(objects_.open_object(entry));
    placed.facts = TRY(make_file(entry, at, content));
    return placed;
  }
  const int made = entry.kind == Kind::link ? ::symlinkat(entry.target.c_str(), at.folder, at.name)
                                            : ::mkdirat(at.folder, at.name, 0777);
  if (made != 0) return fail(Errc::os, errno_text(errno));
  return placed;
}

Result<TreeIndex> TreeWriter::write_all(const std::string& root) {
  const Fd folder = open_folder(AT_FDCWD, root.c_str());
  if (!folder) return fail_errno(format("cannot open {}", printable_path(root)));
  FolderWalk walk(folder.get());
  TreeIndex index;
  index.placed.reserve(manifest_.entries.size());
  for (const TreeEntry& entry : manifest_.entries) {
    const Result<WalkedName> at = walk.make(entry.path);
    if (!at && at.error().code != Errc::os) return tl::unexpected(at.error());
    if (!at) return cannot_make(entry, root, at.error().message);
    Result<PlacedEntry> placed = make(entry, *at);
    if (!placed && placed.error().code == Errc::not_found) return tl::unexpected(placed.error());
    if (!placed) return cannot_make(entry, root, placed.error().message);
    index.placed.push_back(*std::move(placed));
    count();
  }
  return index;
}

Result<PlacedEntry> TreeWriter::stage_entry(size_t number, const Staged& staged) {
  const TreeEntry& entry = manifest_.entries[number];
  const std::string name = staged_name(number);
  const WalkedName at{.folder = staged.folder, .name = name.c_str()};
  PlacedEntry placed = {.entry = entry, .facts = {}};
  if (entry.kind == Kind::folder) return placed;
  const std::optional<size_t> same =
      entry.kind == Kind::file ? staged.files.find(entry.digest) : std::nullopt;
  if (!same) return make(entry, at);
  if (*same == number) {
    struct stat status = {};
    if (::fstatat(at.folder, at.name, &status, AT_SYMLINK_NOFOLLOW) != 0)
      return fail(Errc::os, errno_text(errno));
    placed.facts = facts_of(status);
    return placed;
  }
  const std::string twin = staged_name(*same);
  const Fd content(::openat(at.folder, twin.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!content) return fail(Errc::os, errno_text(errno));
  placed.facts = TRY(make_file(entry, at, content));
  return placed;
}

Result<TreeIndex> TreeWriter::stage(const TreeStaging& staging, std::span<const size_t> numbers) {
  const Fd folder = open_folder(AT_FDCWD, staging.path().c_str());
  if (!folder) return fail_errno(format("cannot open {}", printable_path(staging.path())));
  TreeIndex index;
  index.placed.reserve(numbers.size());
  done_ = manifest_.entries.size() - numbers.size();
  for (const size_t number : numbers) {
    Result<PlacedEntry> placed = stage_entry(number, {.files = staging, .folder = folder.get()});
    if (!placed && placed.error().code == Errc::not_found) return tl::unexpected(placed.error());
    if (!placed)
      return cannot_make(manifest_.entries[number], staging.path(), placed.error().message);
    placed->facts.ctime_ns = 0;
    index.placed.push_back(*std::move(placed));
    count();
  }
  return index;
}

}  // namespace dt
