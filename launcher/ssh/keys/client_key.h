#pragma once

#include <string>
#include <string_view>

namespace dt {

/// Returns the key that the OpenSSH client logged in with, or its other method, from its log (-v).
/// Examples: "ed25519 from /home/me/.ssh/id_ed25519", "… in ssh-agent". Empty when the log does not
/// show it.
std::string key_of_client(std::string_view log);

}  // namespace dt
