#pragma once

#include "base/bytes.h"
#include "base/io/fd.h"
#include "base/result.h"

#include <span>
#include <string_view>
#include <vector>

namespace dt {

/// Unix stream sockets in the abstract namespace. No file has the name, and the kernel frees it
/// when the last descriptor is closed. All are non-blocking.
Result<Fd> listen_local(std::string_view name);
Result<Fd> connect_local(std::string_view name);
/// Fails with Errc::refused when the peer's process has another user (SO_PEERCRED).
Result<> require_same_user(int fd);

/// Sends a few bytes and copies of the descriptors, all or nothing. Fails with Errc::closed.
Result<> send_descriptors(int fd, ByteSpan bytes, std::span<const int> descriptors);
/// recv(2) without waiting. Appends the descriptors that came with the bytes, close-on-exec.
/// Returns 0 when nothing is there; fails with Errc::closed at the end.
Result<size_t> receive_descriptors(int fd, std::span<std::byte> into, std::vector<Fd>& descriptors);

}  // namespace dt
