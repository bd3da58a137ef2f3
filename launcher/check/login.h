#pragma once

#include "launcher/crew.h"
#include "launcher/hosts.h"

#include <string>
#include <string_view>

namespace dt {

/// The key that a client of OpenSSH logged in with, from what it says with -v: "~/.ssh/id_ed25519
/// (ED25519)", "… from ssh-agent", or another way than a key. Empty when it does not tell.
std::string key_of_client(std::string_view said);

/// By what, with which key, and how quickly a host was reached.
std::string login_text(const Host& host, const Connection& connection);

}  // namespace dt
