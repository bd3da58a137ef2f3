#pragma once

#include <string>
#include <string_view>

namespace dt {

/// Returns the key that the OpenSSH client logged in with, from its log (-v): "ed25519 from
/// /home/me/.ssh/id_ed25519", "… in ssh-agent", or the other method that it used. Empty when the
/// log does not show it.
std::string key_of_client(std::string_view log);

}  // namespace dt
