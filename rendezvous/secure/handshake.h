#pragma once

#include "base/bytes.h"
#include "base/crypto.h"
#include "base/io/frame.h"
#include "base/result.h"
#include "rendezvous/cluster/task.h"

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

/// Both directions' keys after a handshake. A sealed frame is a frame (base/io/frame.h) followed by
/// a 16-byte MAC over the direction's counter, header and payload; replayed, reordered, reflected
/// or changed frames fail to open.
class Session {
 public:
  Session(const Digest& send_key, const Digest& receive_key);

  /// Appends frame and MAC to `out`.
  void seal(Bytes& out, FrameHeader header, ByteSpan payload);
  /// As front_frame, for a sealed frame: checks the MAC and moves the counter. `*used` becomes the
  /// bytes that frame and MAC take.
  Result<std::optional<FrameView>> open(ByteSpan bytes, size_t* used);

  /// For data links: appends header (its length counts too) and a MAC over counter and header
  /// alone; the payload follows, unauthenticated as all data is.
  void seal_header(Bytes& out, FrameHeader header);
  Result<std::optional<FrameHeader>> open_header(ByteSpan bytes, size_t* used);

 private:
  // What a MAC covers must not be mistaken for the other kind's.
  enum class Cover : uint8_t { frame, header };
  static Digest mac(const Hmac& key, Cover cover, uint64_t counter, ByteSpan bytes);
  void append_mac(Bytes& out, Cover cover, ByteSpan bytes);
  Result<> check_mac(Cover cover, ByteSpan bytes, ByteSpan mac);

  Hmac send_;
  Hmac receive_;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
};

inline constexpr size_t frame_mac_bytes = 16;

/// The most bytes that an acceptor reads before its peer has proved the token.
inline constexpr size_t handshake_bytes_max = 256;

/// What an acceptor sends before its peer has proved the token.
inline constexpr size_t challenge_bytes = 2 * sizeof(Digest);
/// Whether a connection whose first byte this is may be a handshake.
bool begins_handshake(std::byte first);

/// Mutual proof of the job's token by HMAC-SHA256 challenge over version, job, generation, both
/// tasks, direction and both nonces; never addresses. Bytes in, bytes out; it takes no byte that
/// belongs to what follows the handshake.
///
///   dialer:    hello ─▶ … ◀─ challenge+proof … proof ─▶ … ◀─ accepted | refused ─▶ done
///   acceptor:  … ◀─ hello … challenge+proof ─▶ … ◀─ proof … accept() | refuse() ─▶ done
///
/// The keys of the Session are derived from the token and all of the above as HKDF does (RFC 5869:
/// extract, then one expansion a purpose). The verdict has a MAC too, so that nobody else can turn
/// a task away.
class Handshake {
 public:
  /// `peer` is who the dialer wants to reach.
  static Result<Handshake> dial(Claim claim, TaskId peer);
  /// Takes whoever proves the token; peer() then says who it claims to be.
  static Result<Handshake> accept(Claim claim);

  /// How many more bytes it waits for; 0 when it is our turn. Who reads no more than these from a
  /// connection finds the first frame still there.
  size_t wanted() const;
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
  enum class State : uint8_t {
    challenge,
    verdict,
    verdict_text,
    hello,
    hello_body,
    proof,
    proved,
    done
  };
  Handshake(Claim claim, bool dialer, State state);

  Result<> step(ByteSpan message);
  Result<> step_hello(ByteSpan message);
  Result<> step_hello_body(ByteSpan message);
  Result<> step_challenge(ByteSpan message);
  Result<> step_proof(ByteSpan message);
  Result<> step_verdict_text(ByteSpan message);
  void expect(State state, size_t bytes);
  void send_verdict(bool accepted, std::string_view reason);
  Bytes transcript() const;
  Digest proof(std::string_view direction) const;
  Digest key(std::string_view purpose) const;

  bool dialer_ = false;
  State state_ = State::hello;
  Claim claim_;
  TaskId peer_;
  int64_t pid_ = 0;  // the dialer's
  Digest our_nonce_ = {};
  Digest peer_nonce_ = {};
  Bytes input_;  // the message under way, never longer than need_
  size_t need_ = 0;
  Bytes output_;
};

}  // namespace dt
