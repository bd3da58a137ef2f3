#pragma once

#include "base/bytes.h"
#include "base/crypto.h"
#include "base/frame.h"
#include "base/result.h"
#include "rendezvous/task.h"

#include <cstdint>
#include <optional>
#include <string>

namespace dt {

/// What two ends of a TCP (or Unix) connection must agree on before a byte of it is believed.
struct Claim {
  Token token;
  std::string job;
  uint32_t generation = 0;
  TaskId self;
};

/// Both directions' keys after a handshake. A sealed frame is a frame (base/frame.h) followed by a
/// 16-byte MAC over the direction's counter, header and payload; replayed, reordered, reflected or
/// changed frames fail to open.
class Session {
 public:
  Session(const Digest& send_key, const Digest& receive_key);

  /// Appends frame and MAC to `out`.
  void seal(Bytes& out, FrameHeader header, ByteSpan payload);
  /// As front_frame, for a sealed frame: checks the MAC and moves the counter. `*used` becomes the
  /// bytes that frame and MAC take.
  Result<std::optional<FrameView>> open(ByteSpan bytes, size_t* used);

  /// For data links: appends header and a MAC over counter and header alone; the payload follows
  /// it, unauthenticated as design says of data.
  void seal_header(Bytes& out, FrameHeader header);
  Result<std::optional<FrameHeader>> open_header(ByteSpan bytes, size_t* used);

 private:
  Hmac send_;
  Hmac receive_;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
};

inline constexpr size_t frame_mac_bytes = 16;

/// Mutual proof of the job's token by HMAC-SHA256 challenge over version, job, generation, both
/// tasks, direction and both nonces; never addresses. Pure: bytes in, bytes out. Reads at most 256
/// bytes.
///
///   dialer:    hello ─▶ … ◀─ challenge+proof … proof ─▶ … ◀─ accepted | refused ─▶ done
///   acceptor:  … ◀─ hello … challenge+proof ─▶ … ◀─ proof … accept() | refuse() ─▶ done
class Handshake {
 public:
  /// `peer` is who the dialer wants to reach.
  static Result<Handshake> dial(Claim claim, TaskId peer);
  /// Takes whoever proves the token; peer() then says who it claims to be.
  static Result<Handshake> accept(Claim claim);

  /// Consumes received bytes; returns how many. An error is final: close the connection without a
  /// word.
  Result<size_t> receive(ByteSpan bytes);
  /// Bytes to send now; empties them.
  Bytes take_output();

  /// Acceptor: the peer has proved the token and waits for our word.
  bool proved() const;
  void accept_peer();
  /// The dialer gets this reason as its error.
  void refuse_peer(std::string_view reason);
  /// Both sides are done; session() may be taken.
  bool done() const;
  const TaskId& peer() const;
  /// The peer's process id as it said (for messages only).
  int64_t peer_pid() const;
  Session session() const;

 private:
  enum class State { start, wait_challenge, wait_verdict, wait_hello, wait_proof, proved, done };
  Handshake() = default;
  // Private details are the implementation's.
  bool dialer_ = false;
  State state_ = State::start;
  Claim claim_;
  TaskId peer_;
  int64_t peer_pid_ = 0;
  Digest our_nonce_ = {};
  Digest peer_nonce_ = {};
  Bytes output_;
};

}  // namespace dt
