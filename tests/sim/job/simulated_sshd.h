#pragma once

#include "base/io/fd.h"
#include "launcher/connect/spawned_process.h"
#include "tests/sim/job/cable.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dt {

/// The result of one try to log in to a host.
enum class Login : uint8_t {
  agent,         ///< the agent starts
  push,          ///< the launcher must send the agent first
  noise,         ///< rc files print lines before the agent starts
  refused,       ///< sshd does not listen yet
  reset,         ///< MaxStartups
  denied,        ///< sshd accepts no key
  silent,        ///< never an answer
  closed,        ///< without a message
  architecture,  ///< another one than the launcher's
  babble,        ///< endless text, and no agent
};

/// The size of the executable that the launcher sends to a host without dtrain.
inline constexpr size_t pushed_bytes = 100'000;

/// True when the agent starts.
bool ends_well(Login login);

/// The sshd of a host, and the connections of all logins. It starts the agent, or does not.
class SimulatedSshd {
 public:
  struct Handlers {
    std::function<void(const std::string& event)> on_event;
    std::function<void()> start_agent;
    /// For the bytes of the last connection, without the executable that the launcher sends.
    std::function<void(ByteSpan bytes)> on_bytes;
    std::function<void()> on_end;
  };
  /// `logins`: one for each try; the last one for all further tries. `takes`: the time of each.
  SimulatedSshd(Site& site, std::vector<Login> logins, Duration takes, Handlers handlers);
  SimulatedSshd(const SimulatedSshd&) = delete;
  SimulatedSshd& operator=(const SimulatedSshd&) = delete;

  /// The next try to log in.
  Result<SpawnedProcess> log_in(const std::string& name, Cable::Nature nature);
  /// The connection of the last try; null before the first.
  Cable* cable() const { return cables_.empty() ? nullptr : cables_.back().get(); }
  /// The launcher has closed that connection.
  bool input_ended() const { return input_ended_; }

 private:
  void receive(ByteSpan bytes);
  void answer(Login login, const std::string& name, Fd messages);

  Site& site_;
  std::vector<Login> logins_;
  Duration takes_;
  Handlers handlers_;
  std::vector<std::unique_ptr<Cable>> cables_;  ///< one for each try; the last one is in use
  Timer timer_;
  size_t awaited_push_ = 0;
  bool input_ended_ = false;
};

}  // namespace dt
