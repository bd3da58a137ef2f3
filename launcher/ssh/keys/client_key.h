#pragma once

#include <string>
#include <string_view>

namespace dt {

/// The key that the client logged in with, from what it says with -v: "ed25519 from
/// /home/me/.ssh/id_ed25519", "… from ssh-agent", or another way than a key. Empty when it does not
/// tell.
std::string key_of_client(std::string_view said);

}  // namespace dt
