#pragma once

#include "base/bytes.h"
#include "base/crypto.h"
#include "base/io/frame.h"
#include "base/result.h"
#include "rendezvous/cluster/task.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace dt {

/// The identity that one end of a TCP (or Unix) connection claims. Both ends must agree on it
/// before they trust any byte.
struct Claim {
  Token token;
  std::string job;
  uint32_t generation = 0;
  TaskId self;
  bool encrypt_data = false;         ///< the payload of data frames is encrypted in both directions
  uint32_t attempt = first_attempt;  ///< of `self`
};

inline constexpr size_t frame_mac_bytes = 16;
inline constexpr size_t payload_tag_bytes = Aes128Gcm::tag_bytes;
using SealedHeader = std::array<std::byte, frame_header_bytes + frame_mac_bytes>;

/// The keys of both directions after a handshake. A sealed frame is a frame (base/io/frame.h) and a
/// 16-byte MAC (SipHash) over the direction's counter, header and payload. Replayed, reordered,
/// reflected or changed frames fail to open. Payload of data frames is encrypted on request.
class Session {
 public:
  Session(const Digest& send_key, const Digest& receive_key);

  /// Appends frame and MAC to `out`.
  void seal(Bytes& out, FrameHeader header, ByteSpan payload);
  /// As front_frame, for a sealed frame: checks the MAC and increments the counter. Sets `*used` to
  /// the length of frame and MAC.
  Result<std::optional<FrameView>> open(ByteSpan bytes, size_t* used);

  /// For data links: returns the header and a MAC over counter and header only, the payload's
  /// length included. The payload follows as it is, unless encrypts_data().
  SealedHeader seal_header(const FrameHeader& header);
  Result<std::optional<FrameHeader>> open_header(ByteSpan bytes, size_t* used);

  /// From now on, the payload of data frames is encrypted and authenticated (AES-128-GCM). Each
  /// key must be new.
  void encrypt_data(const Digest& send_key, const Digest& receive_key);
  bool encrypts_data() const { return data_.has_value(); }
  /// Encrypts the payload behind a sealed header, in the order of the headers. `sealed` has
  /// payload_tag_bytes more. Requires encrypts_data(), as open_payload() does.
  void seal_payload(ByteSpan head, ByteSpan payload, std::span<std::byte> sealed);
  /// Decrypts in place, in the order of the headers. Returns the payload. Fails with Errc::protocol
  /// when it was changed, replayed, reordered or put behind another header.
  Result<ByteSpan> open_payload(ByteSpan head, std::span<std::byte> sealed);

 private:
  // Part of the MAC's input, so that no MAC is valid for the other kind.
  enum class Cover : uint8_t { frame, header };
  static SipHash::Tag mac(SipHash& key, Cover cover, uint64_t counter, ByteSpan bytes);
  Result<> check_mac(Cover cover, ByteSpan bytes, ByteSpan mac);

  struct DataCiphers {
    Aes128Gcm send;
    Aes128Gcm receive;
    uint64_t sent = 0;
    uint64_t received = 0;
  };
  SipHash send_;
  SipHash receive_;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
  std::optional<DataCiphers> data_;
};

/// The most bytes that an acceptor reads before its peer has proved the token.
inline constexpr size_t handshake_bytes_max = 256;

/// The bytes that an acceptor sends before its peer has proved the token.
inline constexpr size_t challenge_bytes = 2 * sizeof(Digest);
/// True when a connection with this first byte may be a handshake.
bool begins_handshake(std::byte first);

/// Mutual proof of the job's token by an HMAC-SHA256 challenge, which covers version, job,
/// generation, encryption, both tasks, the dialer's attempt, direction and both nonces, but no
/// addresses. Bytes go in and come out. The handshake consumes no byte behind its own.
///
///   dialer:    hello ─▶ … ◀─ challenge+proof … proof ─▶ … ◀─ accepted | refused ─▶ done
///   acceptor:  … ◀─ hello … challenge+proof ─▶ … ◀─ proof … accept() | refuse() ─▶ done
///
/// The Session's keys are derived by HKDF from the token and all of these values. See RFC 5869:
/// extract, then one expansion a purpose. The verdict has a MAC, too, so that no other process can
/// refuse a task.
class Handshake {
 public:
  /// `peer` is the task that the dialer wants to reach.
  static Result<Handshake> dial(Claim claim, TaskId peer);
  /// Accepts the proof of any task of the job; peer() then returns the task that the dialer claims
  /// to be.
  static Result<Handshake> accept(Claim claim);

  /// Returns how many more bytes the handshake needs; 0 when this side must act. A caller that
  /// reads no more than these leaves the first frame in the connection.
  size_t wanted() const;
  /// Consumes received bytes; returns how many. An error is final: the caller may send
  /// take_output(), which tells the acceptor that its proof is wrong, and closes the connection.
  Result<size_t> receive(ByteSpan bytes);
  /// Returns the bytes to send now, and clears them.
  Bytes take_output();

  /// Acceptor: the peer has proved the token and waits for accept_peer() or refuse_peer().
  bool proved() const;
  /// Dialer: the peer has proved the token, and has the proof or will get it. It decides, so this
  /// side cannot know whether the connection is complete there.
  bool awaits_verdict() const;
  void accept_peer();
  /// The dialer receives this reason as its error.
  void refuse_peer(std::string_view reason);
  /// True when both sides are done; session() then is valid.
  bool done() const;
  const TaskId& peer() const;
  /// The process id that the peer has sent (for messages only).
  int64_t peer_pid() const;
  /// Acceptor: the attempt that the dialer claims to be.
  uint32_t peer_attempt() const { return attempt_; }
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
  int64_t pid_ = 0;                   // the dialer's
  uint32_t attempt_ = first_attempt;  // the dialer's
  Digest our_nonce_ = {};
  Digest peer_nonce_ = {};
  Bytes input_;  // the current message, never longer than need_
  size_t need_ = 0;
  Bytes output_;
};

}  // namespace dt
