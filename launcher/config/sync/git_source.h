#pragma once

#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// A repository elsewhere, and the commit of it that is wanted.
struct GitSource {
  std::string url;
  std::string ref;  ///< a branch, a tag, or a hash of 4 hex digits or more; empty: default branch
  bool operator==(const GitSource&) const = default;
};

/// The server of a git URL.
struct GitServer {
  std::string scheme;  ///< "https", "http", "ssh", "git" or "file", in lower case
  std::string user;
  std::string host;   ///< in lower case; empty for file
  uint16_t port = 0;  ///< 0: that of the scheme
  /// True where a password for one of them is one for the other, too.
  bool same_server(const GitServer& other) const;
  bool operator==(const GitServer&) const = default;
};

/// True for a URL of a scheme that git knows, and for user@host:path, which is ssh. Else the text
/// is the path of a folder.
bool is_git_url(std::string_view text);

/// Reads URL[@REF]. REF follows the first "@" of the path; one before the path belongs to the
/// user's name. Fails with Errc::input, and shows no password, for a URL with a password, and for a
/// REF that git could take for an option or for several refs.
Result<GitSource> parse_git_source(std::string_view text);

/// Returns the URL without the name of a user, for messages, reports, and the key of a setup: it is
/// one for all users of the repository.
std::string name_of_repository(const GitSource& source);

/// Returns none for a text that is no git URL.
std::optional<GitServer> git_server_of(std::string_view url);

}  // namespace dt
