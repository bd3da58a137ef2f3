#include "base/io/local_socket.h"

#include "base/io/socket.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

namespace dt {
namespace {

TEST_CASE("a socket in a folder with a long path is reached, and names its user") {
  const TemporaryFolder folder;
  const std::string deep = folder.path() + "/" + std::string(200, 'd');
  std::filesystem::create_directory(deep);
  const Fd opened(::open(deep.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  CHECK(connect_in(opened.get(), "s").error().code == Errc::not_found);
  Fd listener = listen_in(opened.get(), "s").value();
  const Fd client = connect_in(opened.get(), "s").value();
  const Fd server = accept_one(listener.get()).value();
  REQUIRE(server);
  CHECK(peer_user(server.get()) == ::geteuid());
  CHECK(peer_user(client.get()) == ::geteuid());
  listener.reset();
  CHECK(connect_in(opened.get(), "s").error().code == Errc::refused);
  // A socket that a killed process has left is replaced.
  CHECK(listen_in(opened.get(), "s").has_value());
  CHECK(listen_in(opened.get(), std::string(200, 's')).error().code == Errc::input);
}

}  // namespace
}  // namespace dt
