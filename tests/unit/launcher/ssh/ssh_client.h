#pragma once

#include "launcher/ssh/session.h"
#include "tests/unit/launcher/ssh/ssh_server.h"
#include "tests/unit/run_until.h"

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>

namespace dt {

/// True when tests that need a real sshd and libssh2 cannot run; it prints the reason.
inline bool no_ssh_here() {
  const std::string why =
      ssh_library().present ? RealSshd::obstacle().value_or("") : ssh_library().text;
  if (!why.empty()) MESSAGE("skipped: " << why);
  return !why.empty();
}

inline std::shared_ptr<const SshIdentity> identity_of(const std::string& path) {
  return std::make_shared<const SshIdentity>(load_identity(path).value());
}

/// A session and the results of its handlers.
struct SshClient {
  Loop& loop;
  SshSession::Target target = {};
  Result<> verdict = {};  ///< the result of check_host_key
  std::string key_seen = {};
  std::string received = {};
  int opened = 0;
  std::function<void()> on_drained = {};
  std::optional<SshSession::End> end = {};
  std::unique_ptr<SshSession> session = {};

  /// Logs in as the user and with the key that the server accepts.
  SshClient(Loop& the_loop, const SshServer& server, std::string command) : loop(the_loop) {
    target = {.dial = {.addresses = {{"127.0.0.1", server.port()}}},
              .credentials = {.copy_id = "node07",
                              .user = SshServer::user(),
                              .identities = {identity_of(server.path("user_key"))}},
              .command = [command = std::move(command)] { return command; }};
  }
  SshClient(Loop& the_loop, Address address) : loop(the_loop) {
    target = {.dial = {.addresses = {std::move(address)}},
              .credentials = {.copy_id = "node07", .user = "me"},
              .command = [] { return "true"; }};
  }
  SshClient(const SshClient&) = delete;
  SshClient& operator=(const SshClient&) = delete;

  SshSession::Handlers handlers() {
    return {.check_host_key = [this](ByteSpan key) -> Result<> {
              key_seen = as_text(key);
              return verdict;
            },
            .on_open = [this] { ++opened; },
            .on_bytes =
                [this](ByteSpan bytes) {
                  received += as_text(bytes);
                  return bytes.size();
                },
            .on_end =
                [this](SshSession::End how) {
                  REQUIRE(!end);
                  end = std::move(how);
                },
            .on_drained =
                [this] {
                  if (on_drained) on_drained();
                }};
  }
  SshSession& start(SshSession::Handlers handlers, KeyAgent* agent = nullptr,
                    Duration patience = seconds(30)) {
    session = std::make_unique<SshSession>(
        loop, target, SshSession::Options{.agent = agent, .open_by = Clock::now() + patience},
        std::move(handlers));
    return *session;
  }
  SshSession& start(KeyAgent* agent = nullptr, Duration patience = seconds(30)) {
    return start(handlers(), agent, patience);
  }
  /// Runs the session to its end. Returns the failure's message, or "ended".
  std::string run() {
    run_until(loop, [&] { return end.has_value(); });
    return end->failure ? end->failure->error.message : "ended";
  }
  SshPhase failed_in() const { return end->failure.value().phase; }
  Errc code() const { return end->failure.value().error.code; }
};

}  // namespace dt
