#pragma once

#include "base/crypto.h"
#include "base/io/loop.h"
#include "base/io/network.h"
#include "base/io/socket.h"
#include "base/result.h"
#include "launcher/protocol/probe_target.h"

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dt {

inline constexpr size_t probe_nonce_bytes = 16;

/// Listens on some addresses of this machine for a short time. It proves to a dialer that an
/// address leads to this machine. The dialer sends 16 random bytes. The reply is their HMAC, keyed
/// with the job's token, and made over this machine's number, too. So a dialer does not confuse
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
    Fd connection;
    std::array<std::byte, probe_nonce_bytes> nonce = {};
    size_t received = 0;
    Watch watch;
    Timer deadline;
  };
  ProbeListener(Loop& loop, const Token& token, uint32_t number, Limits limits)
      : loop_(loop), key_(token.secret), number_(number), limits_(limits) {}
  void accept(Listener& listener);
  void add(Fd connection);
  /// Reads what has arrived, and answers a whole nonce. Returns true when the connection is over.
  bool serve(Caller& caller) const;
  void drop(uint64_t caller);

  Loop& loop_;
  Hmac key_;
  uint32_t number_;
  Limits limits_;
  std::vector<ProbeEndpoint> endpoints_;
  std::list<Listener> listeners_;
  uint64_t next_caller_ = 0;
  std::map<uint64_t, Caller> callers_;  ///< the oldest first
};

/// Dials all targets at once.
class ProbeDialer {
 public:
  /// For each target the addresses that reached it.
  using Reached = std::vector<ProbeTarget>;
  struct Terms {
    std::vector<ProbeTarget> targets;
    Time deadline;
    /// Zero: all addresses of a target are dialed at once. Otherwise the first one comes first.
    /// The others follow when it fails or after this time, and not at all when it is good.
    Duration head_start = Duration::zero();
  };
  /// `on_done` is called once, from the loop: when all connections have ended, or at the deadline.
  /// It is also called a moment after each target has one good address. The target launcher_number
  /// gets less time than the others: a relay can replace its connection.
  ProbeDialer(Loop& loop, const Token& token, Terms terms, std::function<void(Reached)> on_done);
  ProbeDialer(const ProbeDialer&) = delete;
  ProbeDialer& operator=(const ProbeDialer&) = delete;
  ~ProbeDialer();

 private:
  struct Call;
  void start_all(Duration head_start);
  void start(Call& call);
  /// Dials the addresses of a target that still wait for its first one.
  void start_rest(size_t target);
  bool send_nonce(Call& call) const;
  void ready(Call& call);
  void receive_proof(Call& call);
  bool reached(size_t target) const;
  void end(Call& call);
  static void close(Call& call);
  void check_done();
  void finish();

  Loop& loop_;
  std::array<std::byte, probe_nonce_bytes> nonce_ = {};
  std::vector<ProbeTarget> targets_;
  std::vector<Digest> proofs_;  ///< for each target
  std::vector<std::unique_ptr<Call>> calls_;
  std::function<void(Reached)> on_done_;
  Timer deadline_;
  Timer head_start_;
  Timer last_moment_;
  Timer launcher_patience_;
  bool hurrying_ = false;
  bool done_ = false;
};

}  // namespace dt
