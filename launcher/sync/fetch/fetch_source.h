#pragma once

#include "base/bytes.h"
#include "base/io/fd.h"
#include "base/result.h"
#include "launcher/sync/manifest.h"
#include "launcher/sync/messages.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {

/// A file or a symbolic link that --fetch brings back.
struct FetchedFile {
  std::string path;  ///< below the tree's root
  uint64_t size = 0;
  bool executable = false;
  std::string target = {};  ///< of a link; empty: a file
  bool operator==(const FetchedFile&) const = default;
};

/// Returns a link for link_escape().
TreeEntry entry_of_link(const FetchedFile& link);
/// Returns the reason by which a link is left out, from that of link_escape().
std::string link_fault(std::string_view target, std::string_view escape);

Bytes encode(const FetchedFile& file);
/// Reads a payload back. Fails with Errc::protocol for bytes that are none.
Result<FetchedFile> decode_fetched_file(ByteSpan payload);

/// Files that match the patterns, and all that is left out.
struct FetchMatch {
  /// Each once, in the order of their paths: first files, then links.
  std::vector<FetchedFile> files;
  Fetched missing;
};

/// The bytes of one file, in pieces. A file that grows is read up to its size when it was opened.
class FetchReader {
 public:
  FetchReader(Fd file, uint64_t bytes) : file_(std::move(file)), left_(bytes) {}
  /// Fills the front of `piece`. Returns how many bytes; 0 at the end.
  Result<size_t> read(std::span<std::byte> piece);

 private:
  Fd file_;
  uint64_t left_;
};

/// A tree on a host, after its tasks: files that --fetch names. No link is followed below the root.
class FetchSource {
 public:
  static Result<FetchSource> open(const std::string& root);
  /// Patterns are those of fnmatch(3) without flags, for the path below the root. One that matches
  /// a folder takes all below it. dtrain's own folder is left out. Links are not followed; those
  /// that leave the tree are left out. Fails with Errc::input for a pattern that is empty,
  /// absolute, or has "..".
  Result<FetchMatch> match(const std::vector<std::string>& patterns) const;
  /// Opens a file. The message of a failure is only the reason, without the path.
  Result<FetchReader> read(const std::string& path) const;

 private:
  explicit FetchSource(Fd root) : root_(std::move(root)) {}
  Fd root_;
};

}  // namespace dt
