#include "launcher/sync/fetch/fetch_source.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/sync/manifest.h"
#include "launcher/sync/store/folder_walk.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <set>
#include <string_view>

namespace dt {

namespace {

Result<> check_pattern(const std::string& pattern) {
  const auto refuse = [&](std::string_view why) {
    return fail(Errc::input, format("--fetch {}: {}", printable(pattern), why));
  };
  if (pattern.empty()) return refuse("the pattern is empty");
  if (pattern.starts_with('/')) return refuse("the pattern must be relative to the tree");
  for (const std::string_view part : split(pattern, '/')) {
    if (part == "..") return refuse("the pattern must not leave the tree");
  }
  return {};
}

/// False if the pattern can match no path below this folder, since the beginnings differ.
bool may_match_below(std::string_view pattern, const std::string& folder) {
  const std::string_view literal = pattern.substr(0, pattern.find_first_of("*?[\\"));
  const std::string below = folder + "/";
  if (literal.size() == pattern.size()) return pattern.starts_with(below);
  const size_t common = std::min(literal.size(), below.size());
  return literal.substr(0, common) == std::string_view(below).substr(0, common);
}

std::string_view special_kind(mode_t mode) {
  if (S_ISSOCK(mode)) return "a socket";
  return S_ISFIFO(mode) ? "a FIFO" : "a device";
}

/// Returns the target of a link. Empty if it cannot be read.
std::string link_target(int folder, const char* name) {
  std::array<char, Manifest::path_bytes_max + 1> target;
  const ssize_t size = ::readlinkat(folder, name, target.data(), target.size());
  return size < 0 ? "" : std::string(target.data(), static_cast<size_t>(size));
}

/// Lists a tree once for all patterns.
class PatternMatcher {
 public:
  explicit PatternMatcher(const std::vector<std::string>& patterns)
      : patterns_(patterns), matched_(patterns.size()) {}

  Result<> list(int folder, const std::string& above, bool all);
  FetchMatch take();

 private:
  bool matches(const std::string& path);
  void list_below(int folder, const std::string& path, bool all);
  void add(int folder, const std::string& path, const struct stat& status);
  void leave_out_escaping_links();

  const std::vector<std::string>& patterns_;
  std::vector<bool> matched_;
  std::set<std::string, std::less<>> links_ = {};  ///< of the whole tree
  FetchMatch match_ = {};
};

const char* name_below(const std::string& path) {
  return path.c_str() + path.rfind('/') + 1;
}

bool PatternMatcher::matches(const std::string& path) {
  bool any = false;
  for (size_t i = 0; i < patterns_.size(); ++i) {
    std::string_view pattern = patterns_[i];
    // "out/" is the folder "out".
    while (pattern.size() > 1 && pattern.ends_with('/'))
      pattern.remove_suffix(1);
    if (::fnmatch(std::string(pattern).c_str(), path.c_str(), 0) != 0) continue;
    matched_[i] = true;
    any = true;
  }
  return any;
}

/// With `all`, a folder above has matched.
Result<> PatternMatcher::list(int folder, const std::string& above, bool all) {
  for (const std::string& name : TRY(names_in(folder))) {
    if (above.empty() && name == Manifest::own_folder) continue;
    const std::string path = above + name;
    struct stat status = {};
    const bool known = ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    const int number = errno;
    if (known && S_ISLNK(status.st_mode)) links_.insert(path);
    const bool wanted = matches(path) || all;
    if (known && S_ISDIR(status.st_mode)) {
      list_below(folder, path, wanted);
    } else if (wanted && known) {
      add(folder, path, status);
    } else if (wanted) {
      match_.missing.unreadable.add(path, errno_text(number));
    }
  }
  return {};
}

/// A folder that cannot be read does not keep the others from being listed.
void PatternMatcher::list_below(int folder, const std::string& path, bool all) {
  const Fd below = open_folder(folder, name_below(path));
  const std::string why = errno_text(errno);
  const Result<> listed = below ? list(below.get(), path + "/", all) : fail(Errc::os, why);
  if (listed) return;
  const bool concerns = all || std::ranges::any_of(patterns_, [&](const std::string& pattern) {
                          return may_match_below(pattern, path);
                        });
  if (concerns) match_.missing.unreadable.add(path, listed.error().message);
}

void PatternMatcher::add(int folder, const std::string& path, const struct stat& status) {
  FetchedFile file = {.path = path};
  if (S_ISLNK(status.st_mode)) {
    file.target = link_target(folder, name_below(path));
    if (file.target.empty()) return match_.missing.unreadable.add(path, errno_text(errno));
  } else if (S_ISREG(status.st_mode)) {
    file.size = static_cast<uint64_t>(status.st_size);
    file.executable = (status.st_mode & S_IXUSR) != 0;
  } else {
    return match_.missing.left_out.add(path, special_kind(status.st_mode));
  }
  match_.files.push_back(std::move(file));
}

void PatternMatcher::leave_out_escaping_links() {
  const LinkTest is_link = [this](std::string_view path) { return links_.contains(path); };
  std::erase_if(match_.files, [&](const FetchedFile& file) {
    if (file.target.empty()) return false;
    const std::string escape = link_escape(entry_of_link(file), is_link);
    if (escape.empty()) return false;
    match_.missing.left_out.add(file.path, link_fault(file.target, escape));
    return true;
  });
}

FetchMatch PatternMatcher::take() {
  std::ranges::sort(match_.files, {}, [](const FetchedFile& file) {
    return std::pair(!file.target.empty(), std::string_view(file.path));
  });
  leave_out_escaping_links();
  for (size_t i = 0; i < patterns_.size(); ++i) {
    if (!matched_[i]) match_.missing.unmatched.push_back(patterns_[i]);
  }
  return std::move(match_);
}

}  // namespace

Result<size_t> FetchReader::read(std::span<std::byte> piece) {
  if (piece.size() > left_) piece = piece.first(static_cast<size_t>(left_));
  ssize_t count = 0;
  do {
    count = ::read(file_.get(), piece.data(), piece.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) return fail(Errc::os, errno_text(errno));
  left_ -= static_cast<uint64_t>(count);
  return static_cast<size_t>(count);
}

TreeEntry entry_of_link(const FetchedFile& link) {
  return {.path = link.path, .kind = TreeEntry::Kind::link, .target = link.target};
}

std::string link_fault(std::string_view target, std::string_view escape) {
  return format("a link to '{}', {}", printable(target), escape);
}

Bytes encode(const FetchedFile& file) {
  return Writer()
      .text(file.path)
      .number(file.size)
      .number(file.executable)
      .text(file.target)
      .take();
}

Result<FetchedFile> decode_fetched_file(ByteSpan payload) {
  Reader reader(payload);
  FetchedFile file;
  file.path = reader.text();
  file.size = reader.number<uint64_t>();
  file.executable = reader.number<bool>();
  file.target = reader.text();
  TRY(reader.finish("a fetched file"));
  return file;
}

Result<FetchSource> FetchSource::open(const std::string& root) {
  Fd folder = open_folder(AT_FDCWD, root.c_str());
  if (!folder) return fail_errno(format("cannot open {}", printable_path(root)));
  return FetchSource(std::move(folder));
}

Result<FetchMatch> FetchSource::match(const std::vector<std::string>& patterns) const {
  for (const std::string& pattern : patterns)
    TRY(check_pattern(pattern));
  PatternMatcher matcher(patterns);
  const Result<> listed = matcher.list(root_.get(), "", false);
  if (listed) return matcher.take();
  return fail(Errc::os, format("cannot list the tree: {}", listed.error().message));
}

Result<FetchReader> FetchSource::read(const std::string& path) const {
  FolderWalk walk(root_.get());
  const WalkedName at = TRY(walk.enter(path));
  constexpr int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  Fd file(::openat(at.folder, at.name, flags));
  struct stat status = {};
  if (!file || ::fstat(file.get(), &status) != 0)
    return fail(errno == ENOENT ? Errc::not_found : Errc::os, errno_text(errno));
  if (!S_ISREG(status.st_mode)) return fail(Errc::os, "it is no file any more");
  return FetchReader(std::move(file), static_cast<uint64_t>(status.st_size));
}

}  // namespace dt
