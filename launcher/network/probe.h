#pragma once

#include "base/crypto.h"
#include "base/io/loop.h"
#include "base/io/network.h"
#include "base/io/socket.h"
#include "base/io/stream.h"
#include "base/result.h"
#include "launcher/protocol/probe_target.h"

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dt {

/// Listens on some addresses of this machine for a short time. It proves to a dialer that an
/// address leads to this machine. The dialer sends 16 random bytes; the reply is their HMAC, keyed
/// with the job's token and made over this machine's number, too. So a dialer does not confuse
/// machines that have the same address, such as that of a container bridge.
class ProbeListener {
 public:
  struct ListenOptions {
    std::vector<InterfaceAddress> addresses;
    uint16_t held_port = 0;  ///< that this process holds (hold_port); 0: any port
  };
  struct Limits {
    size_t callers_max = 1024;       ///< above it the oldest is closed: a true dialer is quick
    Duration patience = seconds(5);  ///< after which a connection is closed
  };
  /// Skips an address when listening fails. Fails with Errc::os when no address is left.
  static Result<std::unique_ptr<ProbeListener>> open(Loop& loop, const ListenOptions& options,
                                                     const Token& token, uint32_t number,
                                                     Limits limits);
  static Result<std::unique_ptr<ProbeListener>> open(Loop& loop, const ListenOptions& options,
                                                     const Token& token, uint32_t number) {
    return open(loop, options, token, number, Limits());
  }
  ProbeListener(const ProbeListener&) = delete;
  ProbeListener& operator=(const ProbeListener&) = delete;

  /// The endpoints at which it listens, in the order of ListenOptions::addresses.
  const std::vector<ProbeEndpoint>& endpoints() const { return endpoints_; }
  size_t callers() const { return callers_.size(); }

 private:
  struct Listener {
    Fd fd;
    Watch watch;
    Timer resume;  ///< runs while this process is out of descriptors
  };
  struct Caller {
    std::unique_ptr<Stream> stream;
    Timer deadline;
  };
  ProbeListener(Loop& loop, const Token& token, uint32_t number, Limits limits)
      : loop_(loop), token_(token), number_(number), limits_(limits) {}
  void accept(Listener& listener);
  void add(Fd connection);
  void drop(uint64_t caller);

  Loop& loop_;
  Token token_;
  uint32_t number_;
  Limits limits_;
  std::vector<ProbeEndpoint> endpoints_;
  std::list<Listener> listeners_;
  uint64_t next_caller_ = 0;
  std::map<uint64_t, Caller> callers_;  ///< the oldest first
};

/// Dials all addresses of all targets at once.
class ProbeDialer {
 public:
  /// For each target the addresses that reached it.
  using Reached = std::vector<ProbeTarget>;
  /// `on_done` is called once, from the loop: when all connections have ended, or at the deadline.
  /// It is also called a moment after each target has one good address. The target launcher_number
  /// gets less time than the others: a relay can replace its connection.
  ProbeDialer(Loop& loop, const Token& token, std::vector<ProbeTarget> targets, Time deadline,
              std::function<void(Reached)> on_done);
  ProbeDialer(const ProbeDialer&) = delete;
  ProbeDialer& operator=(const ProbeDialer&) = delete;
  ~ProbeDialer();

 private:
  struct Call;
  void start(Call& call);
  void connected(Call& call);
  void end(Call& call);
  static void close(Call& call);
  void check_done();
  void finish();

  Loop& loop_;
  Token token_;
  std::vector<ProbeTarget> targets_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::function<void(Reached)> on_done_;
  Timer deadline_;
  Timer last_moment_;
  Timer launcher_patience_;
  bool hurrying_ = false;
  bool done_ = false;
};

}  // namespace dt
