#pragma once

#include "launcher/ssh/config/ssh_config.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// What the tokens of ssh_config(5) stand for: 'h' → "node1".
using SshTokens = std::map<char, std::string>;

/// A text with its tokens put in, or what kept it from it.
struct SshExpansion {
  enum class Kind : uint8_t {
    done,
    unknown_token,  ///< one that newer programs may know
    bad,            ///< a variable that is not set, a % or ${ that ends too early, no such user
  };
  Kind kind = Kind::done;
  std::string text;  ///< the result, or what is wrong
  bool operator==(const SshExpansion&) const = default;
};

/// %% and %x; with a world also ${NAME}.
SshExpansion expand_ssh_tokens(std::string_view text, const SshTokens& tokens,
                               const SshWorld* world);
/// ~ and ~user at the front, then tokens and variables.
SshExpansion expand_ssh_path(std::string_view text, const SshTokens& tokens,
                             const SshRequest& request, const SshWorld& world);
/// ~ and ~user at the front.
SshExpansion expand_tilde(std::string_view text, const SshRequest& request, const SshWorld& world);

/// As ssh dials it: an address in its canonical form, a name in lower case.
std::string dialled_name(std::string_view host);

}  // namespace dt
