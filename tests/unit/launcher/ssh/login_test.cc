#include "launcher/ssh/login.h"

#include "tests/unit/launcher/ssh/ssh_client.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

// NOLINTBEGIN(readability-identifier-naming): LeakSanitizer's names, there in builds that have it
extern "C" __attribute__((weak)) void __lsan_disable();
extern "C" __attribute__((weak)) void __lsan_enable();
// NOLINTEND(readability-identifier-naming)

namespace dt {
namespace {

/// Allocations during its lifetime do not count as leaks. libssh2 1.10 leaks one of OpenSSL's
/// numbers for each ecdsa key that it reads from a file.
struct LibraryLeaks {
  LibraryLeaks() {
    if (__lsan_disable != nullptr) __lsan_disable();
  }
  LibraryLeaks(const LibraryLeaks&) = delete;
  LibraryLeaks& operator=(const LibraryLeaks&) = delete;
  ~LibraryLeaks() {
    if (__lsan_enable != nullptr) __lsan_enable();
  }
};

/// A real ssh-agent in the server's folder; ends with this object.
class SshAgent {
 public:
  SshAgent(Loop& loop, const SshServer& server) : socket_(server.path("agent")) {
    const Fd watcher(inotify_init1(IN_CLOEXEC));
    inotify_add_watch(watcher.get(), server.folder().path().c_str(), IN_CREATE);
    const Fd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
    process_ = Child::start({.path = "/usr/bin/ssh-agent",
                             .arguments = {"ssh-agent", "-D", "-a", socket_},
                             .environment = {"PATH=/usr/bin:/bin"},
                             .cwd = {},
                             .output = nowhere.get()})
                   .value();
    // The socket exists after bind(2) but answers only after listen(2): repeat until it does.
    for (Result<std::unique_ptr<KeyAgent>> agent = KeyAgent::connect(loop, socket_);;
         agent = KeyAgent::connect(loop, socket_)) {
      if (agent) {
        client_ = *std::move(agent);
        return;
      }
      pollfd ready = {.fd = watcher.get(), .events = POLLIN, .revents = 0};
      char events[4096];
      if (access(socket_.c_str(), F_OK) != 0 && poll(&ready, 1, 10'000) == 1)
        REQUIRE(::read(watcher.get(), events, sizeof events) > 0);
    }
  }
  SshAgent(const SshAgent&) = delete;
  SshAgent& operator=(const SshAgent&) = delete;
  ~SshAgent() { stop(); }

  void add(const std::string& key) const {
    SshServer::run({"env", "SSH_AUTH_SOCK=" + socket_, "ssh-add", "-q", key});
  }
  KeyAgent* client() { return client_.get(); }
  void stop() {
    if (!process_) return;
    ::kill(process_->pid(), SIGKILL);
    [[maybe_unused]] const auto status = process_->reap();
    process_.reset();
  }

 private:
  std::string socket_;
  std::optional<Child> process_;
  std::unique_ptr<KeyAgent> client_;
};

struct Fixture {
  SshServer server;
  std::unique_ptr<Loop> loop = Loop::create().value();
  SshClient client{*loop, server, "true"};

  explicit Fixture(const std::string& more = "") : server(more) {}
  void offer(const std::vector<std::string>& names) {
    client.target.credentials.identities.clear();
    for (const std::string& name : names)
      client.target.credentials.identities.push_back(identity_of(server.path(name)));
  }
  std::string run(KeyAgent* agent = nullptr) {
    client.end.reset();
    client.start(agent);
    return client.run();
  }
};

TEST_CASE("ed25519 and ecdsa keys log in from files, in OpenSSH's form and in PEM") {
  if (no_ssh_here()) return;
  const LibraryLeaks leaks;
  Fixture fixture;
  for (const std::string type : {"ed25519", "ecdsa"}) {
    fixture.server.make_key(type, type);
    fixture.server.allow(type);
    fixture.offer({type});
    CHECK(fixture.run() == "ended");
  }
  SshServer::run(
      {"ssh-keygen", "-q", "-p", "-N", "", "-m", "PEM", "-f", fixture.server.path("ecdsa")});
  REQUIRE(fixture.server.folder().read("ecdsa").starts_with("-----BEGIN EC PRIVATE KEY"));
  fixture.offer({"ecdsa"});
  CHECK(fixture.run() == "ended");
}

TEST_CASE("a refusal names what was tried, and the command that repairs it") {
  if (no_ssh_here()) return;
  const LibraryLeaks leaks;
  Fixture fixture;
  fixture.server.make_key("stranger");
  fixture.server.make_key("another", "ecdsa");
  fixture.offer({"stranger", "another"});
  CHECK(fixture.run() == format("login refused (tried ed25519 from {}, ecdsa from {}); try: "
                                "ssh-copy-id node07",
                                fixture.server.path("stranger"), fixture.server.path("another")));
  CHECK(fixture.client.failed_in() == SshPhase::login);
  CHECK(fixture.client.code() == Errc::refused);
  CHECK(!worth_retrying(*fixture.client.end->failure));

  fixture.offer({});
  CHECK(fixture.run() ==
        "login refused (no key to try); try: ssh-keygen -t ed25519, then ssh-copy-id node07");
  // After a refused key the next one is tried.
  fixture.offer({"stranger", "user_key"});
  CHECK(fixture.run() == "ended");
}

TEST_CASE("a login without keys fails with the methods that the server takes") {
  if (no_ssh_here()) return;
  Fixture fixture("PubkeyAuthentication no\nPasswordAuthentication yes");
  CHECK(fixture.run() == format("login refused (tried ed25519 from {}); the server takes no keys, "
                                "only password",
                                fixture.server.path("user_key")));
}

TEST_CASE("a server that ends the tries is quoted") {
  if (no_ssh_here()) return;
  Fixture fixture("MaxAuthTries 1");
  fixture.server.make_key("stranger");
  fixture.offer({"stranger", "user_key"});
  const std::string message = fixture.run();
  CAPTURE(message);
  CHECK(message.find("Too many authentication failures") != std::string::npos);
  CHECK(message.find("tried ed25519 from") != std::string::npos);
  CHECK(fixture.client.failed_in() == SshPhase::login);
  CHECK(!worth_retrying(*fixture.client.end->failure));
}

TEST_CASE("an encrypted key logs in by ssh-agent, and is named where no agent holds it") {
  if (no_ssh_here()) return;
  Fixture fixture;
  fixture.server.make_key("locked", "ed25519", "a passphrase");
  fixture.server.allow("locked");
  fixture.offer({"locked"});
  CHECK(fixture.run() == format("login refused (no key to try); {0} is encrypted and no ssh-agent "
                                "holds it; try: ssh-add {0}",
                                fixture.server.path("locked")));
  CHECK(fixture.client.code() == Errc::refused);

  SshAgent agent(*fixture.loop, fixture.server);
  fixture.server.folder().write("askpass", "#!/bin/sh\necho a passphrase\n", 0700);
  SshServer::run({"env", "SSH_AUTH_SOCK=" + fixture.server.path("agent"),
                  "SSH_ASKPASS_REQUIRE=force", "SSH_ASKPASS=" + fixture.server.path("askpass"),
                  "ssh-add", "-q", fixture.server.path("locked")});
  CHECK(fixture.run(agent.client()) == "ended");
}

TEST_CASE("a key that others can read is not used") {
  if (no_ssh_here()) return;
  Fixture fixture;
  chmod(fixture.server.path("user_key").c_str(), 0644);
  fixture.offer({"user_key"});
  CHECK(fixture.run() == format("login refused (no key to try); {0} may be read by others (mode "
                                "0644), so it is not used; try: chmod 600 {0}",
                                fixture.server.path("user_key")));
}

TEST_CASE("keys of a real ssh-agent log in, of all types that the library can use") {
  if (no_ssh_here()) return;
  Fixture fixture;
  SshAgent agent(*fixture.loop, fixture.server);
  fixture.offer({});
  for (const std::string type : {"ecdsa", "ed25519"}) {
    fixture.server.make_key("in_agent_" + type, type);
    agent.add(fixture.server.path("in_agent_" + type));
    if (type == "ecdsa") {
      CHECK(fixture.run(agent.client()) ==
            "login refused (tried ecdsa from ssh-agent); try: ssh-copy-id node07");
    }
    fixture.server.allow("in_agent_" + type);
    CHECK(fixture.run(agent.client()) == "ended");
  }
}

TEST_CASE("with IdentitiesOnly the agent's other keys are not offered") {
  if (no_ssh_here()) return;
  Fixture fixture;
  SshAgent agent(*fixture.loop, fixture.server);
  fixture.server.make_key("in_agent");
  fixture.server.make_key("stranger");
  agent.add(fixture.server.path("in_agent"));
  fixture.server.allow("in_agent");
  fixture.offer({"stranger"});
  fixture.client.target.credentials.identities_only = true;
  CHECK(fixture.run(agent.client()).starts_with("login refused (tried ed25519 from /"));
  fixture.offer({"in_agent"});
  CHECK(fixture.run(agent.client()) == "ended");
}

TEST_CASE("an rsa key is left to the OpenSSH client where libssh2 could only sign with SHA-1") {
  if (no_ssh_here()) return;
  Fixture fixture;
  fixture.server.make_key("rsa", "rsa");
  fixture.server.allow("rsa");
  fixture.offer({"rsa"});
  const std::string message = fixture.run();
  if (ssh_library().rsa_sha2) {
    CHECK(message == "ended");
    return;
  }
  CHECK(message ==
        format("login refused (no key to try); rsa from {} works with the OpenSSH client only",
               fixture.server.path("rsa")));
  CHECK(fixture.client.code() == Errc::unsupported);
}

TEST_CASE("an ssh-agent that dies does not keep key files from being tried") {
  if (no_ssh_here()) return;
  Fixture fixture;
  SshAgent agent(*fixture.loop, fixture.server);
  agent.stop();
  CHECK(fixture.run(agent.client()) == "ended");
}

TEST_CASE("an ssh-agent that never answers fails a session at its deadline, and no other") {
  if (no_ssh_here()) return;
  Fixture fixture;
  const std::string path = fixture.server.path("deaf");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const Fd deaf(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(bind(deaf.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(listen(deaf.get(), 1) == 0);
  const auto agent = KeyAgent::connect(*fixture.loop, path).value();
  fixture.client.start(agent.get(), seconds(3));
  CHECK(fixture.client.run() == "no answer in time while logging in");
  CHECK(fixture.run() == "ended");
}

}  // namespace
}  // namespace dt
