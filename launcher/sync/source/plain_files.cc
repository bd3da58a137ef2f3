#include "launcher/sync/source/plain_files.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/sync/manifest.h"
#include "launcher/sync/source/folder_below.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

namespace dt {

namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

/// One folder after the other, so that the depth of a tree costs no stack and no descriptors.
class Walk {
 public:
  Walk(const Fd& root, const SyncPatterns& patterns, bool included_only)
      : root_(root), patterns_(patterns), included_only_(included_only) {}

  Result<PlainFiles> run(std::string from) {
    std::vector<std::string> waiting = {std::move(from)};
    while (!waiting.empty()) {
      const std::string folder = std::move(waiting.back());
      waiting.pop_back();
      TRY(read(folder, waiting));
    }
    return std::move(found_);
  }

 private:
  Result<> read(const std::string& path, std::vector<std::string>& waiting) {
    Fd opened = open_folder_below(root_, path);
    if (!opened) {
      if (errno == EACCES || errno == EPERM) found_.unreadable.push_back(path);
      return {};
    }
    const Folder folder(::fdopendir(opened.get()));
    if (!folder) return fail_errno(format("cannot read the folder '{}'", printable(path)));
    static_cast<void>(opened.release());
    bool empty = true;
    // readdir(3) on a stream of our own is safe; no other thread sees it.
    while (const dirent* const item = readdir(folder.get())) {  // NOLINT(concurrency-mt-unsafe)
      const std::string_view name = item->d_name;
      if (name == "." || name == ".." || name == ".git") continue;
      empty = false;
      std::string below = path.empty() ? std::string(name) : format("{}/{}", path, name);
      if (is_folder(*item, ::dirfd(folder.get()))) {
        if (enters(below)) waiting.push_back(std::move(below));
      } else if (takes(below)) {
        found_.paths.push_back(std::move(below));
      }
      if (found_.paths.size() > Manifest::entries_max || waiting.size() > Manifest::entries_max)
        return fail(Errc::input,
                    format("--sync: the tree has more than {} files; leave some out by "
                           "--sync-exclude, or name another folder by --sync-from",
                           Manifest::entries_max));
    }
    if (empty && !path.empty() && takes(path)) found_.empty_folders.push_back(path);
    return {};
  }

  static bool is_folder(const dirent& item, int folder) {
    if (item.d_type != DT_UNKNOWN) return item.d_type == DT_DIR;
    struct stat status = {};
    return ::fstatat(folder, item.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(status.st_mode);
  }
  bool takes(const std::string& path) const {
    return included_only_ ? patterns_.includes(path) : !patterns_.excludes(path);
  }
  bool enters(const std::string& folder) const {
    return patterns_.may_include_below(folder) || (!included_only_ && !patterns_.excludes(folder));
  }

  const Fd& root_;
  const SyncPatterns& patterns_;
  bool included_only_;
  PlainFiles found_;
};

}  // namespace

Result<PlainFiles> list_plain_files(const std::string& root, const SyncPatterns& patterns) {
  const Fd opened = TRY(open_tree_root(root));
  return Walk(opened, patterns, false).run("");
}

Result<PlainFiles> list_included_files(const std::string& root, const std::string& folder,
                                       const SyncPatterns& patterns) {
  const Fd opened = TRY(open_tree_root(root));
  return Walk(opened, patterns, true).run(folder);
}

}  // namespace dt
