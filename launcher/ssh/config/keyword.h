#pragma once

#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// What may follow a keyword.
enum class SshForm : uint8_t {
  anything,  ///< not looked at: nothing of it matters here
  word,      ///< one word
  choice,    ///< one of `choices`, in any case of letters
  number,    ///< 0 or more
  port,
  time,     ///< "90", "1m30s", "none"
  files,    ///< some words, or "none" alone
  agent,    ///< a path, or $NAME
  command,  ///< the rest of the line
  jumps,    ///< ProxyJump's [user@]host[:port],… or "none"
  host,     ///< these four steer the reader
  match,
  include,
  ignore_unknown,
};

/// What a value is good for.
enum class SshUse : uint8_t {
  ignored,
  read,       ///< the first value wins
  collected,  ///< all values count
  openssh,    ///< only the OpenSSH client can do it, unless the value is `harmless`
  beyond,     ///< only `ssh -G` can tell what follows from it, unless the value is `harmless`
};

/// One directive that OpenSSH knows.
struct SshKeyword {
  std::string_view name;
  SshForm form = SshForm::anything;
  SshUse use = SshUse::ignored;
  std::string_view choices = {};   ///< between bars
  std::string_view harmless = {};  ///< values that change nothing, between bars
  bool is_harmless(const std::vector<std::string>& values) const;
};

/// By its name or one of its old names, in lower case; null when there is none.
const SshKeyword* find_ssh_keyword(std::string_view name);

/// Whether the words have the keyword's form, as OpenSSH would say; `rest` is the line after the
/// keyword. An error has no place.
Result<> check_ssh_value(const SshKeyword& keyword, const std::vector<std::string>& words,
                         std::string_view rest);

/// Seconds of a valid time; none for "none".
std::optional<int> ssh_time_seconds(std::string_view text);

}  // namespace dt
