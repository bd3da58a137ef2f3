#pragma once

#include "base/io/log.h"
#include "base/io/loop.h"
#include "base/io/socket.h"
#include "base/result.h"
#include "launcher/network/handshake_dial.h"
#include "launcher/protocol/diagnose_messages.h"
#include "rendezvous/secure/acceptor.h"
#include "rendezvous/secure/handshake.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace dt {

/// A transfer ends at the first of these bounds, so that it never fills the network for long.
struct BandwidthBounds {
  uint64_t bytes_max = uint64_t{64} << 20;
  Duration time_max = milliseconds(200);
};

/// The listening side of a measurement. A client must prove the token (Handshake). The server
/// returns the client's first bytes one by one, then counts the bytes that follow and their time.
///
///   Client: handshake ── one byte ─▶ (repeated)      ── zeros … ─▶              close
///   Server: handshake              ◀─ the same byte  ── counts  ◀─ bytes and time
class BandwidthServer {
 public:
  /// Listens on these addresses; port 0 means any port. Skips an address when listening fails.
  static std::unique_ptr<BandwidthServer> open(Loop& loop, const std::vector<Address>& where,
                                               const Claim& claim, BandwidthBounds bounds = {});
  BandwidthServer(const BandwidthServer&) = delete;
  BandwidthServer& operator=(const BandwidthServer&) = delete;
  ~BandwidthServer();

  std::vector<Address> addresses() const;

 private:
  struct Caller;
  BandwidthServer(Loop& loop, BandwidthBounds bounds);
  void add(Fd connection, Handshake handshake);
  void readable(Caller& caller);
  void send_result(Caller& caller);
  void drop(const Caller& caller);

  Loop& loop_;
  BandwidthBounds bounds_;
  Log quiet_;  ///< discards the Acceptors' warnings
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  std::list<Caller> callers_;
  std::vector<std::byte> buffer_;
};

/// Dials a BandwidthServer and measures.
///
///   dialing ─▶ echoing ─▶ sending ─▶ result
class BandwidthClient {
 public:
  /// `on_done` is called once, from the loop; it may destroy this object. Fails with Errc::timeout
  /// at the deadline.
  BandwidthClient(Loop& loop, const HandshakeDial::Target& to, const Claim& claim,
                  std::function<void(Result<Speed>)> on_done);
  BandwidthClient(const BandwidthClient&) = delete;
  BandwidthClient& operator=(const BandwidthClient&) = delete;

 private:
  Result<> start(Fd connection, Time deadline);
  void ready(uint32_t events);
  Result<> step(uint32_t events);
  Result<> send_echo();
  Result<> receive_echo();
  Result<> send_zeros();
  Result<> receive_result();
  void end(Result<Speed> result);

  Loop& loop_;
  std::function<void(Result<Speed>)> on_done_;
  std::unique_ptr<HandshakeDial> dial_;
  Fd fd_;
  Watch watch_;
  Timer timer_;
  int echoes_ = 0;
  Time echo_sent_;
  std::vector<std::byte> zeros_;
  std::array<std::byte, sizeof(uint64_t) + sizeof(int64_t)> result_ = {};  ///< bytes, nanoseconds
  size_t result_received_ = 0;
  Speed speed_;
};

}  // namespace dt
