#pragma once

#include "base/format.h"
#include "base/io/loop.h"
#include "base/io/socket.h"
#include "launcher/process/child.h"
#include "tests/unit/launcher/ssh/sshd_fixture.h"
#include "tests/unit/run_program.h"
#include "tests/unit/temporary_folder.h"

#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace dt {

/// A real sshd that listens on loopback, at a free port. It has its own keys and configuration, and
/// its log in a file. It accepts logins with `user_key`. The destructor ends it.
/// RealSshd::obstacle() is the reason why it cannot run.
class SshServer {
 public:
  /// `more` are lines of sshd_config(5); they win.
  explicit SshServer(const std::string& more = "") {
    make_key("host_key");
    make_key("user_key");
    allow("user_key");
    Fd held = hold_port(0).value();
    port_ = local_address(held.get()).value().port;
    folder_.write("config",
                  format("{}\nListenAddress 127.0.0.1:{}\nHostKey {}\nAuthorizedKeysFile {}\n"
                         "PidFile {}\nUsePAM no\nStrictModes no\nPermitRootLogin yes\n"
                         "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
                         "PrintMotd no\nLogLevel VERBOSE\n",
                         more, port_, path("host_key"), path("authorized"), path("pid")));
    start();
  }
  SshServer(const SshServer&) = delete;
  SshServer& operator=(const SshServer&) = delete;
  ~SshServer() { stop(); }

  uint16_t port() const { return port_; }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  const TemporaryFolder& folder() const { return folder_; }
  std::string log() const { return folder_.read("log"); }
  static std::string user() { return getpwuid(geteuid())->pw_name; }

  /// Makes a key pair NAME and NAME.pub by ssh-keygen.
  void make_key(const std::string& name, const std::string& type = "ed25519",
                const std::string& passphrase = "") const {
    run({"ssh-keygen", "-q", "-t", type, "-N", passphrase, "-C", name, "-f", path(name)});
  }
  void allow(const std::string& name) const {
    folder_.write("authorized", folder_.read("authorized") + folder_.read(name + ".pub"));
  }
  static std::string run(const std::vector<std::string>& command) {
    const ProgramResult result = run_program(command);
    if (result.status != 0) throw std::runtime_error(command.front() + ": " + result.error);
    return result.output;
  }
  void stop() {
    if (!daemon_) return;
    ::kill(daemon_->pid(), SIGTERM);
    pollfd ended = {.fd = daemon_->pidfd(), .events = POLLIN, .revents = 0};
    if (poll(&ended, 1, 10'000) != 1) ::kill(daemon_->pid(), SIGKILL);
    [[maybe_unused]] const auto status = daemon_->reap();
    daemon_.reset();
  }

 private:
  /// It listens once it has written its pid.
  void start() {
    const Fd watcher(inotify_init1(IN_CLOEXEC));
    inotify_add_watch(watcher.get(), folder_.path().c_str(), IN_CLOSE_WRITE);
    auto started = Child::start(
        {.path = "/usr/sbin/sshd",
         .arguments = {"/usr/sbin/sshd", "-D", "-f", path("config"), "-E", path("log")},
         .environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"},
         .cwd = {}});
    if (!started) throw std::runtime_error(started.error().message);
    daemon_ = *std::move(started);
    while (access(path("pid").c_str(), F_OK) != 0) {
      pollfd ready[] = {{.fd = watcher.get(), .events = POLLIN, .revents = 0},
                        {.fd = daemon_->pidfd(), .events = POLLIN, .revents = 0}};
      char events[4096];
      if (poll(ready, 2, 30'000) < 1 || ready[1].revents != 0 ||
          ::read(watcher.get(), events, sizeof events) < 0) {
        throw std::runtime_error("sshd does not start: " + log());
      }
    }
  }

  TemporaryFolder folder_;
  uint16_t port_ = 0;
  std::optional<Child> daemon_;
};

}  // namespace dt
