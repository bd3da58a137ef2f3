#include "base/io/local_socket.h"

#include "base/format.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace dt {

namespace {

constexpr int queue_max = 16;

Result<sockaddr_un> address_in(int folder, const std::string& name) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string path = format("/proc/self/fd/{}/{}", folder, name);
  if (path.size() >= sizeof address.sun_path)
    return fail(Errc::input, "the name of the socket is too long");
  std::ranges::copy(path, static_cast<char*>(address.sun_path));
  return address;
}

Result<Fd> make_socket(int flags) {
  Fd made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (!made) return fail_errno("cannot make a socket");
  return made;
}

}  // namespace

Result<Fd> listen_in(int folder, const std::string& name) {
  const sockaddr_un address = TRY(address_in(folder, name));
  Fd socket = TRY(make_socket(SOCK_NONBLOCK));
  ::unlinkat(folder, name.c_str(), 0);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0 ||
      ::listen(socket.get(), queue_max) < 0) {
    return fail_errno("cannot listen at a socket");
  }
  return socket;
}

Result<Fd> connect_in(int folder, const std::string& name) {
  const sockaddr_un address = TRY(address_in(folder, name));
  Fd socket = TRY(make_socket(0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return socket;
  const int number = errno;
  const Errc code = number == ENOENT         ? Errc::not_found
                    : number == ECONNREFUSED ? Errc::refused
                                             : Errc::os;
  return fail(code, errno_text(number));
}

std::optional<uid_t> peer_user(int socket) {
  ucred peer = {};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0) return std::nullopt;
  return peer.uid;
}

}  // namespace dt
