#pragma once

#include "launcher/ssh/config/ssh_config.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// Values of the tokens of ssh_config(5): 'h' → "node1".
using SshTokens = std::map<char, std::string>;

/// A text with its tokens replaced, or the reason why that failed.
struct SshExpansion {
  enum class Kind : uint8_t {
    done,
    unknown_token,  ///< newer versions of OpenSSH may know it
    bad,            ///< a variable that is not set, a % or ${ that ends too early, no such user
  };
  Kind kind = Kind::done;
  std::string text;  ///< the result, or the error
  bool operator==(const SshExpansion&) const = default;
};

/// Replaces %% and %x; with a `world` also ${NAME}.
SshExpansion expand_ssh_tokens(std::string_view text, const SshTokens& tokens,
                               const SshWorld* world);
/// Replaces ~ or ~user at the front, then tokens and variables.
SshExpansion expand_ssh_path(std::string_view text, const SshTokens& tokens,
                             const SshRequest& request, const SshWorld& world);
/// Replaces ~ or ~user at the front.
SshExpansion expand_tilde(std::string_view text, const SshRequest& request, const SshWorld& world);

/// Returns the host as ssh dials it: an address in its canonical form, a name in lower case.
std::string dialed_name(std::string_view host);

}  // namespace dt
