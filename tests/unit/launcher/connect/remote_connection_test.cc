#include "launcher/connect/remote_connection.h"

#include "tests/unit/launcher/ssh/ssh_client.h"
#include "tests/unit/run_until.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

/// The connection to "node07" of a configuration file, and the results of its handlers.
struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  TemporaryFolder folder = {};
  std::string logged = {};
  Log log{Log::Level::verbose, [this](std::string_view line) { logged += line; }};
  LoginOptions login = {.connect_timeout = seconds(30)};
  std::string command = "echo up; cat";
  std::string received = {};
  std::optional<AgentConnection::CloseReason> end = {};
  std::unique_ptr<RemoteHosts> hosts = {};
  std::unique_ptr<RemoteConnection> connection = {};

  /// Writes the configuration. `more` comes first, and so has precedence.
  void configure(uint16_t port, const std::string& more) {
    folder.write("config", format("{}\nHost *\n  HostName 127.0.0.1\n  Port {}\n"
                                  "  UserKnownHostsFile {}/known_hosts\n",
                                  more, port, folder.path()));
    login.config = folder.path() + "/config";
  }
  void know(const SshServer& server) {
    const std::string key = server.folder().read("host_key.pub");
    folder.write("known_hosts", format("[127.0.0.1]:{} {}", server.port(), key));
    login.identity = server.path("user_key");
  }
  void start() {
    hosts = RemoteHosts::create(*loop, log, {.login = login, .noise = 7}).value();
    connection = std::make_unique<RemoteConnection>(
        *hosts, Host{.name = "node07"},
        RemoteCommand{.command = [this] { return command; },
                      .script = [this] { return command + "; exit\n"; }},
        AgentConnection::Handlers{
            .on_bytes =
                [this](ByteSpan bytes) {
                  received += as_text(bytes);
                  connection->arrived();
                  return bytes.size();
                },
            .on_end = [this](AgentConnection::CloseReason how) { end = std::move(how); }});
  }
  /// Exchanges a line in each direction, and returns why the connection ended.
  std::string talk() {
    start();
    run_until(*loop, [this] { return end || received == "up\n"; });
    if (end) return end->why;
    connection->write(as_bytes("and back"));
    connection->close_after_sending();
    run_until(*loop, [this] { return end.has_value(); });
    CHECK(received == "up\nand back");
    return end->why;
  }
  std::string fail() {
    start();
    run_until(*loop, [this] { return end.has_value(); });
    return end->why;
  }
  bool logged_that(std::string_view what) const { return logged.find(what) != std::string::npos; }
};

const std::string ended_well = "its process ended: exit status 0";

TEST_CASE("a host is reached by libssh2 where that can do it") {
  if (no_ssh_here()) return;
  const SshServer server;
  Fixture f;
  f.configure(server.port(), "");
  f.know(server);
  CHECK(f.talk() == ended_well);
  CHECK(f.connection->ended());
  CHECK(f.logged == format("dtrain: node07: through {}\n", ssh_library().text));
}

TEST_CASE("a host is reached by the OpenSSH client with --ssh openssh") {
  if (no_ssh_here()) return;
  const SshServer server;
  Fixture f;
  f.configure(server.port(), "");
  f.know(server);
  f.login.implementation = SshImplementation::openssh;
  CHECK(f.talk() == ended_well);
  CHECK(f.logged == "dtrain: node07: through the OpenSSH client, for --ssh openssh\n");
}

TEST_CASE("an option that only the OpenSSH client has selects it, and is named") {
  if (no_ssh_here()) return;
  const SshServer server;
  Fixture f;
  f.configure(server.port(), "Host node07\n  Ciphers aes256-ctr");
  f.know(server);
  CHECK(f.talk() == ended_well);
  CHECK(f.logged_that(format("OpenSSH client, for {}/config:2: ciphers", f.folder.path())));
  f.login.implementation = SshImplementation::libssh2;
  f.end.reset();
  CHECK(f.fail() ==
        format("--ssh libssh2 cannot reach it: {}/config:2: ciphers; use --ssh auto or openssh",
               f.folder.path()));
}

TEST_CASE("a configuration that only ssh can evaluate is read by ssh -G") {
  if (no_ssh_here()) return;
  const SshServer server;
  Fixture f;
  f.configure(1, format("Match exec true\n  Port {}", server.port()));
  f.know(server);
  CHECK(f.talk() == ended_well);
  CHECK(f.logged_that("through " + ssh_library().text));
}

TEST_CASE(
    "the OpenSSH client takes over where libssh2 and the server have no algorithm in common") {
  if (no_ssh_here()) return;
  const SshServer server("KexAlgorithms sntrup761x25519-sha512@openssh.com");
  Fixture f;
  f.configure(server.port(), "");
  f.know(server);
  CHECK(f.talk() == ended_well);
  CHECK(f.logged_that("through " + ssh_library().text));
  CHECK(f.logged_that("through the OpenSSH client, for "));
}

TEST_CASE("a program like rsh gets the script on its input") {
  Fixture f;
  f.folder.write("rsh", "#!/bin/sh\n[ \"$1\" = node07 ] && shift && exec \"$@\"\n", 0700);
  f.login.program = {f.folder.path() + "/rsh"};
  CHECK(f.talk() == ended_well);
  CHECK(f.logged == format("dtrain: node07: through {}/rsh (--rsh-agent)\n", f.folder.path()));
}

TEST_CASE(
    "a scheduler's program takes the place of ssh, unless the user chose a way or it is missing") {
  Fixture f;
  f.folder.write("rsh", "#!/bin/sh\nshift; exec \"$@\"\n", 0700);
  f.folder.write("own", "#!/bin/sh\nshift; exec \"$@\"\n", 0700);
  f.login.scheduler_program = f.folder.path() + "/rsh";
  CHECK(f.talk() == ended_well);
  CHECK(f.logged ==
        format("dtrain: node07: through {}/rsh (the scheduler's program)\n", f.folder.path()));
  Fixture own;
  own.login.scheduler_program = f.login.scheduler_program;
  own.login.program = {f.folder.path() + "/own"};
  CHECK(own.talk() == ended_well);
  CHECK(own.logged == format("dtrain: node07: through {}/own (--rsh-agent)\n", f.folder.path()));
  Fixture none;
  none.login.scheduler_program = "no_such_program";
  const auto hosts = RemoteHosts::create(*none.loop, none.log, {.login = none.login}).value();
  CHECK(hosts->login().scheduler_program.empty());
  CHECK(hosts->login().program.empty());
  CHECK(none.logged == "dtrain: no_such_program is not in PATH, so that agents start over ssh\n");
  Fixture by_ssh;
  by_ssh.login = {.implementation = SshImplementation::openssh,
                  .scheduler_program = "no_such_program"};
  const auto given = RemoteHosts::create(*by_ssh.loop, by_ssh.log, {.login = by_ssh.login}).value();
  CHECK(given->login().scheduler_program.empty());
  CHECK(by_ssh.logged.empty());
}

TEST_CASE("the error of a program that fails has its stderr") {
  Fixture f;
  f.folder.write("rsh", "#!/bin/sh\necho no such pod >&2; exit 255\n", 0700);
  f.login.program = {f.folder.path() + "/rsh"};
  CHECK(f.fail() == "no such pod (its process ended: exit status 255)");
  CHECK_FALSE(f.end->logged_in);
}

TEST_CASE("a server that refuses is tried again until the time is over, by either implementation") {
  if (no_ssh_here()) return;
  const Fd held = hold_port(0).value();
  for (const SshImplementation implementation :
       {SshImplementation::automatic, SshImplementation::openssh}) {
    Fixture f;
    f.configure(local_address(held.get()).value().port, "");
    f.login.implementation = implementation;
    f.login.connect_timeout = seconds(3);
    CHECK(f.fail().find("Connection refused") != std::string::npos);
    CHECK(f.logged_that("Connection refused"));
    CHECK(f.logged_that("; trying again"));
  }
}

TEST_CASE("a name that is not known yet is tried again, where the user gave a time") {
  if (no_ssh_here()) return;
  for (const SshImplementation implementation :
       {SshImplementation::automatic, SshImplementation::openssh}) {
    Fixture f;
    f.configure(22, "HostName nosuch.invalid");
    f.login.implementation = implementation;
    f.login.connect_timeout = seconds(3);
    CHECK(f.fail().find("nosuch.invalid") != std::string::npos);
    CHECK(f.logged_that("; trying again"));
  }
}

TEST_CASE("the client runs dtrain's command, whatever session the user's configuration has") {
  if (no_ssh_here()) return;
  const SshServer server;
  Fixture f;
  f.configure(server.port(),
              "RemoteCommand false\nSessionType none\nStdinNull yes\nForkAfterAuthentication yes\n"
              "ExitOnForwardFailure yes\nLocalForward 127.0.0.1:1 127.0.0.1:1\nRequestTTY force\n");
  f.know(server);
  f.login.implementation = SshImplementation::openssh;
  CHECK(f.talk() == ended_well);
}

TEST_CASE("a server that never answers times out, by either implementation") {
  if (no_ssh_here()) return;
  const Fd silent = listen_on({"127.0.0.1", 0}).value();
  for (const SshImplementation implementation :
       {SshImplementation::automatic, SshImplementation::openssh}) {
    Fixture f;
    f.configure(local_address(silent.get()).value().port, "");
    f.login.implementation = implementation;
    f.login.connect_timeout = milliseconds(200);
    CHECK(f.fail().starts_with("no answer for 200ms (--connect-timeout)"));
    CHECK(f.connection->ended());
  }
}

TEST_CASE("ConnectTimeout of the ssh configuration counts without --connect-timeout") {
  if (no_ssh_here()) return;
  const Fd silent = listen_on({"127.0.0.1", 0}).value();
  Fixture f;
  f.configure(local_address(silent.get()).value().port, "ConnectTimeout 1");
  f.login.connect_timeout.reset();
  CHECK(f.fail().starts_with("no answer for 1s"));
}

TEST_CASE("a login that does not start an agent in time times out, too") {
  if (no_ssh_here()) return;
  const SshServer server;
  Fixture f;
  f.configure(server.port(), "");
  f.know(server);
  f.command = "sleep 60";
  f.login.connect_timeout = seconds(2);
  CHECK(f.fail() == "no answer for 2s (--connect-timeout)");
  CHECK(f.end->logged_in);
}

TEST_CASE("a configuration that ssh would refuse is an error with its place") {
  Fixture f;
  f.folder.write("config", "AddressFamily many\n");
  f.login.config = f.folder.path() + "/config";
  CHECK(f.fail() == format("{}/config:1: addressfamily: bad value \"many\"", f.folder.path()));
}

TEST_CASE("a request has the facts of the command line and of the user") {
  Fixture f;
  f.folder.write("key", "");
  const std::string key = f.folder.path() + "/key";
  f.login = {.port = 2222, .identity = key, .config = "cfg"};
  const auto hosts = RemoteHosts::create(*f.loop, f.log, {.login = f.login}).value();
  const SshRequest request = hosts->request({.name = "n", .user = "me"});
  CHECK(request.host == "n");
  CHECK(request.user == "me");
  CHECK(request.port == 2222);
  CHECK(request.identity_files == std::vector{key});
  CHECK(f.logged.empty());
  CHECK(request.config_file == "cfg");
  CHECK(request.local_uid == getuid());
  CHECK_FALSE(hosts->request({.name = "n"}).user);
}

TEST_CASE("a missing --ssh-identity-file is a warning, and the other keys count") {
  Fixture f;
  f.login.identity = "/no/key";
  const auto hosts = RemoteHosts::create(*f.loop, f.log, {.login = f.login}).value();
  CHECK(hosts->request({.name = "n"}).identity_files.empty());
  CHECK(f.logged_that("--ssh-identity-file /no/key: No such file or directory; the other keys"));
}

}  // namespace
}  // namespace dt
