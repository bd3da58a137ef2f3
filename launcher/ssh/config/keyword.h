#pragma once

#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The form of a keyword's value.
enum class SshForm : uint8_t {
  anything,  ///< not checked: dtrain does not use it
  word,      ///< one word
  choice,    ///< one of `choices`, in any case of letters
  number,    ///< 0 or more
  port,
  time,     ///< "90", "1m30s", "none"
  files,    ///< some words, or "none" alone
  agent,    ///< a path, or $NAME
  command,  ///< the rest of the line
  jumps,    ///< ProxyJump's [user@]host[:port],… or "none"
  host,     ///< this and the next three control the reader
  match,
  include,
  ignore_unknown,
};

/// The effect of a value.
enum class SshUse : uint8_t {
  ignored,
  read,       ///< SshSettings contains it; the first value wins
  collected,  ///< SshSettings contains all values
  session,    ///< changes the session of the OpenSSH client, which dtrain's command line prevents
  openssh,    ///< only the OpenSSH client implements it, unless the value is `harmless`
  ssh_g,      ///< only `ssh -G` resolves its effects, unless the value is `harmless`
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

/// Finds a directive by its name or one of its old names, in lower case. Returns null when OpenSSH
/// has none of that name.
const SshKeyword* find_ssh_keyword(std::string_view name);

/// Fails unless the words have the keyword's form by OpenSSH's rules; `rest` is the line after the
/// keyword. The message does not contain the place.
Result<> check_ssh_value(const SshKeyword& keyword, const std::vector<std::string>& words,
                         std::string_view rest);

/// Returns the seconds of a valid time; none for "none".
std::optional<int> ssh_time_seconds(std::string_view text);

}  // namespace dt
