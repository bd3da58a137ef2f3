#pragma once

#include "base/io/fd.h"
#include "base/result.h"

#include <sys/types.h>

#include <optional>
#include <string>

namespace dt {

/// Listens at a Unix socket in an open folder, non-blocking, and replaces a socket of that name.
/// The folder's path may be longer than an address of a socket: it is named as /proc/self/fd/N.
Result<Fd> listen_in(int folder, const std::string& name);
/// Connects to such a socket, blocking. Fails with Errc::not_found when there is none, and with
/// Errc::refused when nobody listens there.
Result<Fd> connect_in(int folder, const std::string& name);
/// Returns the user of the process at the other end of a Unix socket.
std::optional<uid_t> peer_user(int socket);

}  // namespace dt
