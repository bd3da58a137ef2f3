#pragma once

#include "base/bytes.h"
#include "base/io/fd.h"
#include "base/result.h"

#include <span>
#include <string_view>
#include <vector>

namespace dt {

/// Unix stream sockets in the abstract namespace: a name that no file carries, gone with its
/// process. All are non-blocking.
Result<Fd> listen_local(std::string_view name);
Result<Fd> connect_local(std::string_view name);
/// Refuses a peer of another user, as the kernel tells it.
Result<> require_same_user(int fd);

/// Sends a few bytes and copies of the descriptors with them, all or nothing.
Result<> send_descriptors(int fd, ByteSpan bytes, std::span<const int> descriptors);
/// recv(2) without waiting that also takes descriptors, close-on-exec, appending them. 0: nothing
/// is there. Errc::closed at the end.
Result<size_t> receive_descriptors(int fd, std::span<std::byte> into, std::vector<Fd>& descriptors);

}  // namespace dt
