#include "launcher/sync/source/make_manifest.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/sync/file_facts.h"
#include "launcher/sync/source/folder_below.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

namespace dt {

namespace {

constexpr int read_attempts_max = 3;
constexpr size_t piece_bytes = size_t{256} << 10;

tl::unexpected<Error> fail_file(const std::string& path, std::string_view why) {
  return fail(Errc::input, format("--sync: the file '{}' {}", printable(path), why));
}

/// Reads a whole file, and returns its digest with the facts from before; none if it changed in
/// between.
Result<std::optional<HashedContent>> hash_once(const Fd& root, const std::string& path,
                                               const PieceRead& on_piece) {
  const Fd file = open_file_below(root, path);
  if (!file && errno == ENOENT) return fail_file(path, "has been removed; run again");
  if (!file) return fail_file(path, format("cannot be read: {}", errno_text(errno)));
  struct stat before = {};
  if (::fstat(file.get(), &before) != 0)
    return fail_file(path, format("cannot be read: {}", errno_text(errno)));
  if (!S_ISREG(before.st_mode)) return fail_file(path, "is no file any more; run again");
  static_cast<void>(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL));
  const auto piece = std::make_unique_for_overwrite<std::array<std::byte, piece_bytes>>();
  Sha256 sha;
  uint64_t bytes = 0;
  while (true) {
    const ssize_t count = ::read(file.get(), piece->data(), piece->size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_file(path, format("cannot be read: {}", errno_text(errno)));
    if (count == 0) break;
    bytes += static_cast<size_t>(count);
    sha.add({piece->data(), static_cast<size_t>(count)});
    if (on_piece) on_piece(bytes);
    // A file that grows as fast as it is read has no end.
    if (bytes > static_cast<uint64_t>(before.st_size)) return std::nullopt;
  }
  struct stat after = {};
  if (::fstat(file.get(), &after) != 0)
    return fail_file(path, format("cannot be read: {}", errno_text(errno)));
  const FileFacts facts = facts_of(before);
  if (facts != facts_of(after) || bytes != facts.size) return std::nullopt;
  return HashedContent{
      .facts = facts, .executable = (before.st_mode & S_IXUSR) != 0, .digest = sha.finish()};
}

}  // namespace

Result<HashedContent> hash_file(const Fd& root, const std::string& path,
                                const PieceRead& on_piece) {
  for (int attempt = 0; attempt < read_attempts_max; ++attempt) {
    const std::optional<HashedContent> content = TRY(hash_once(root, path, on_piece));
    if (content) return *content;
  }
  return fail_file(path, format("changed while it was read, {} times; wait until nothing writes to "
                                "it, or leave it out by --sync-exclude",
                                read_attempts_max));
}

Result<MadeManifest> make_manifest(const FoundTree& tree, DigestMemory& memory,
                                   WallClock::time_point now) {
  const Fd root = TRY(open_tree_root(tree.root));
  MadeManifest made;
  made.manifest.entries.reserve(tree.entries.size());
  for (const FoundEntry& found : tree.entries) {
    TreeEntry& entry = made.manifest.entries.emplace_back(found.entry);
    if (entry.kind != TreeEntry::Kind::file) continue;
    const std::optional<Digest> known = memory.find(entry.path, found.facts);
    if (known) {
      entry.digest = *known;
      memory.keep_known(entry.path, found.facts, *known);
      continue;
    }
    const HashedContent content = TRY(hash_file(root, entry.path));
    entry.executable = content.executable;
    entry.size = content.facts.size;
    entry.digest = content.digest;
    ++made.hashed.files;
    made.hashed.bytes += entry.size;
    memory.keep(entry.path, content.facts, content.digest, now);
  }
  TRY(check_manifest(made.manifest));
  return made;
}

}  // namespace dt
