#include "launcher/sync/store/written_files.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "base/text.h"
#include "launcher/sync/file_facts.h"
#include "launcher/sync/manifest.h"
#include "launcher/sync/store/folder_walk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

namespace {

using Kind = TreeEntry::Kind;

constexpr std::string_view python_cache = "__pycache__";

bool in_python_cache(std::string_view path) {
  const std::vector<std::string_view> parts = split(path, '/');
  return std::ranges::find(parts.begin(), parts.end() - 1, python_cache) != parts.end() - 1;
}

class UseReader {
 public:
  explicit UseReader(const TreeIndex& index) : index_(index) {}

  Result<> read(int folder, const std::string& above);
  TreeUse use() const;

 private:
  void read_file(const WalkedName& at, const std::string& path, const struct stat& status);

  const TreeIndex& index_;
  TreeUse use_ = {};
  size_t unchanged_ = 0;
};

Result<> UseReader::read(int folder, const std::string& above) {
  for (const std::string& name : TRY(names_in(folder))) {
    const std::string path = above + name;
    const WalkedName at{.folder = folder, .name = name.c_str()};
    struct stat status = {};
    if (::fstatat(folder, at.name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISDIR(status.st_mode)) {
      read_file(at, path, status);
      continue;
    }
    const Fd below = open_folder(folder, at.name);
    if (!below) {
      use_.written = true;  // a task has taken the rights away
      continue;
    }
    const bool own = above.empty() && name == Manifest::own_folder;
    if (name != python_cache && !own) TRY(read(below.get(), path + "/"));
  }
  return {};
}

void UseReader::read_file(const WalkedName& at, const std::string& path,
                          const struct stat& status) {
  if (S_ISREG(status.st_mode)) use_.bytes += static_cast<uint64_t>(status.st_size);
  const auto found = std::ranges::lower_bound(
      index_.placed, path, {},
      [](const PlacedEntry& placed) -> const std::string& { return placed.entry.path; });
  if (found == index_.placed.end() || found->entry.path != path) {
    use_.written = true;
    return;
  }
  const bool executable = (status.st_mode & S_IXUSR) != 0;
  bool same = S_ISREG(status.st_mode) && found->entry.kind == Kind::file &&
              executable == found->entry.executable && found->facts == facts_of(status);
  if (S_ISLNK(status.st_mode) && found->entry.kind == Kind::link)
    same = has_target(at, found->entry.target);
  if (same) ++unchanged_;
  use_.written = use_.written || !same;
}

TreeUse UseReader::use() const {
  const auto expected = std::ranges::count_if(index_.placed, [](const PlacedEntry& placed) {
    return placed.entry.kind != Kind::folder && !in_python_cache(placed.entry.path);
  });
  TreeUse use = use_;
  use.written = use.written || unchanged_ != static_cast<size_t>(expected);
  return use;
}

}  // namespace

Result<TreeUse> read_tree_use(int root, const TreeIndex& index) {
  UseReader reader(index);
  const Result<> read = reader.read(root, "");
  if (read) return reader.use();
  return fail(Errc::os, format("cannot list the files of a tree: {}", read.error().message));
}

uint64_t bytes_below(const std::string& folder) {
  const Fd root = open_folder(AT_FDCWD, folder.c_str());
  if (!root) return 0;
  const Result<TreeUse> use = read_tree_use(root.get(), {});
  return use ? use->bytes : 0;
}

}  // namespace dt
