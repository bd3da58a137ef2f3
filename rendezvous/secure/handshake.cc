#include "rendezvous/secure/handshake.h"

#include "base/format.h"
#include "base/text.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace dt {

namespace {

constexpr std::string_view handshake_magic = "dtrain\n";
constexpr uint8_t handshake_version = 3;
constexpr size_t digest_bytes = sizeof(Digest);
// The hello: magic, version and the length of its body.
constexpr size_t hello_bytes = handshake_magic.size() + 2;
constexpr size_t hello_body_bytes_max =
    2 * (2 * sizeof(uint32_t) + role_bytes_max) + sizeof(int64_t) + sizeof(uint32_t) + digest_bytes;
static_assert(hello_body_bytes_max <= UINT8_MAX);
static_assert(hello_bytes + hello_body_bytes_max + digest_bytes <= handshake_bytes_max);

constexpr std::string_view from_dialer = "dialer";
constexpr std::string_view from_acceptor = "acceptor";
constexpr std::string_view of_verdict = "verdict";
constexpr std::string_view data_from_dialer = "data of dialer";
constexpr std::string_view data_from_acceptor = "data of acceptor";
// The verdict: accepted or not, and the length of the reason.
constexpr size_t verdict_bytes = 2;

Digest to_digest(ByteSpan bytes) {
  Digest digest;
  assert(bytes.size() == digest.size());
  std::ranges::copy(bytes, digest.begin());
  return digest;
}

/// Keys of 128 bits, for SipHash and AES-128, are halves of the derived ones.
std::array<std::byte, 16> first_half(const Digest& key) {
  std::array<std::byte, 16> half;
  std::copy_n(key.begin(), half.size(), half.begin());
  return half;
}

Result<> check_id(const TaskId& id) {
  if (!id.role.empty() && id.role.size() <= role_bytes_max) return {};
  return fail(Errc::input, format("a role's name has 1 to {} bytes, not {}: '{}'", role_bytes_max,
                                  id.role.size(), printable(id.role)));
}

}  // namespace

bool begins_handshake(std::byte first) {
  return first == static_cast<std::byte>(handshake_magic.front());
}

Session::Session(const Digest& send_key, const Digest& receive_key)
    : send_(first_half(send_key)), receive_(first_half(receive_key)) {
}

SipHash::Tag Session::mac(SipHash& key, Cover cover, uint64_t counter, ByteSpan bytes) {
  const std::array<uint64_t, 2> position = {static_cast<uint64_t>(cover), counter};
  return key.tag({std::as_bytes(std::span(position)), bytes});
}

Result<> Session::check_mac(Cover cover, ByteSpan bytes, ByteSpan received) {
  const SipHash::Tag expected = mac(receive_, cover, received_, bytes);
  if (!equal_in_constant_time(expected, received)) {
    return fail(Errc::protocol, "frame with a wrong MAC: changed, replayed or out of order");
  }
  ++received_;
  return {};
}

void Session::seal(Bytes& out, FrameHeader header, ByteSpan payload) {
  const size_t start = out.size();
  append_frame(out, header, payload);
  const auto tag = mac(send_, Cover::frame, sent_++, ByteSpan(out).subspan(start));
  out.insert(out.end(), tag.begin(), tag.end());
}

Result<std::optional<FrameView>> Session::open(ByteSpan bytes, size_t* used) {
  *used = 0;
  const auto frame = TRY(front_frame(bytes));
  if (!frame) return frame;
  const size_t size = frame_header_bytes + frame->payload.size();
  if (bytes.size() < size + frame_mac_bytes) return std::optional<FrameView>();
  TRY(check_mac(Cover::frame, bytes.first(size), bytes.subspan(size, frame_mac_bytes)));
  *used = size + frame_mac_bytes;
  return frame;
}

SealedHeader Session::seal_header(const FrameHeader& header) {
  const auto bytes = header_bytes(header);
  const auto tag = mac(send_, Cover::header, sent_++, bytes);
  SealedHeader sealed;
  std::ranges::copy(tag, std::ranges::copy(bytes, sealed.begin()).out);
  return sealed;
}

Result<std::optional<FrameHeader>> Session::open_header(ByteSpan bytes, size_t* used) {
  *used = 0;
  const auto header = TRY(front_header(bytes));
  if (!header || bytes.size() < frame_header_bytes + frame_mac_bytes) {
    return std::optional<FrameHeader>();
  }
  TRY(check_mac(Cover::header, bytes.first(frame_header_bytes),
                bytes.subspan(frame_header_bytes, frame_mac_bytes)));
  *used = frame_header_bytes + frame_mac_bytes;
  return header;
}

void Session::encrypt_data(const Digest& send_key, const Digest& receive_key) {
  data_ = DataCiphers{.send = Aes128Gcm(first_half(send_key), Aes128Gcm::Use::seal),
                      .receive = Aes128Gcm(first_half(receive_key), Aes128Gcm::Use::open)};
}

void Session::seal_payload(ByteSpan head, ByteSpan payload, std::span<std::byte> sealed) {
  data_->send.seal({.number = data_->sent++, .beside = head}, payload, sealed);
}

Result<ByteSpan> Session::open_payload(ByteSpan head, std::span<std::byte> sealed) {
  const auto payload = data_->receive.open({.number = data_->received, .beside = head}, sealed);
  if (!payload) return fail(Errc::protocol, "data that was changed, replayed or out of order");
  ++data_->received;
  return *payload;
}

Handshake::Handshake(Claim claim, bool dialer, State state)
    : dialer_(dialer), state_(state), claim_(std::move(claim)) {
}

Result<Handshake> Handshake::dial(Claim claim, TaskId peer) {
  TRY(SipHash::check_available());
  TRY(check_id(claim.self));
  TRY(check_id(peer));
  Handshake dialer(std::move(claim), true, State::challenge);
  TRY(random_bytes(dialer.our_nonce_));
  dialer.peer_ = std::move(peer);
  dialer.pid_ = getpid();
  dialer.attempt_ = dialer.claim_.attempt;

  Writer body;
  encode(body, dialer.claim_.self);
  encode(body, dialer.peer_);
  body.number(dialer.pid_).number(dialer.attempt_).raw(dialer.our_nonce_);
  Writer hello;
  hello.raw(as_bytes(handshake_magic)).number(handshake_version);
  hello.number(static_cast<uint8_t>(body.view().size())).raw(body.view());
  dialer.output_ = hello.take();
  dialer.expect(State::challenge, challenge_bytes);
  return dialer;
}

Result<Handshake> Handshake::accept(Claim claim) {
  TRY(SipHash::check_available());
  Handshake acceptor(std::move(claim), false, State::hello);
  TRY(random_bytes(acceptor.our_nonce_));
  acceptor.expect(State::hello, hello_bytes);
  return acceptor;
}

size_t Handshake::wanted() const {
  return need_ - input_.size();
}

void Handshake::expect(State state, size_t bytes) {
  state_ = state;
  need_ = bytes;
}

Result<size_t> Handshake::receive(ByteSpan bytes) {
  size_t used = 0;
  while (wanted() > 0 && used < bytes.size()) {
    const ByteSpan taken = bytes.subspan(used, std::min(wanted(), bytes.size() - used));
    input_.insert(input_.end(), taken.begin(), taken.end());
    used += taken.size();
    if (state_ == State::hello) {
      // A foreign protocol is detected by its first wrong byte, not at the deadline.
      const size_t n = std::min(input_.size(), handshake_magic.size());
      if (as_text(ByteSpan(input_).first(n)) != handshake_magic.substr(0, n)) {
        return fail(Errc::protocol, "not a dtrain handshake");
      }
    }
    if (wanted() > 0) break;
    need_ = 0;
    TRY(step(std::exchange(input_, {})));
  }
  return used;
}

Result<> Handshake::step(ByteSpan message) {
  switch (state_) {
    case State::hello:
      return step_hello(message);
    case State::hello_body:
      return step_hello_body(message);
    case State::challenge:
      return step_challenge(message);
    case State::proof:
      return step_proof(message);
    case State::verdict:
      // The verdict is kept, and its reason is read behind it: the MAC covers both together.
      input_.assign(message.begin(), message.end());
      expect(State::verdict_text,
             verdict_bytes + std::to_integer<size_t>(message[1]) + frame_mac_bytes);
      return {};
    case State::verdict_text:
      return step_verdict_text(message);
    case State::proved:
    case State::done:
      break;
  }
  assert(false);
  return {};
}

Result<> Handshake::step_hello(ByteSpan message) {
  const auto version = std::to_integer<uint8_t>(message[handshake_magic.size()]);
  const auto length = std::to_integer<size_t>(message[handshake_magic.size() + 1]);
  if (version != handshake_version) {
    return fail(Errc::protocol,
                format("handshake version {}, this build speaks {}", version, handshake_version));
  }
  if (length == 0 || length > hello_body_bytes_max) {
    return fail(Errc::protocol, format("hello of {} bytes", length));
  }
  expect(State::hello_body, length);
  return {};
}

Result<> Handshake::step_hello_body(ByteSpan message) {
  Reader reader(message);
  peer_ = decode_task_id(reader);
  const TaskId wanted_peer = decode_task_id(reader);
  pid_ = reader.number<int64_t>();
  attempt_ = reader.number<uint32_t>();
  const ByteSpan nonce = reader.raw(digest_bytes);
  TRY(reader.finish("hello"));
  peer_nonce_ = to_digest(nonce);
  TRY(check_id(peer_));
  if (wanted_peer != claim_.self) {
    return fail(Errc::protocol, format("hello for {}, but this is {}",
                                       printable(wanted_peer.text()), claim_.self.text()));
  }
  Writer challenge;
  challenge.raw(our_nonce_).raw(proof(from_acceptor));
  output_ = challenge.take();
  expect(State::proof, digest_bytes);
  return {};
}

Result<> Handshake::step_challenge(ByteSpan message) {
  peer_nonce_ = to_digest(message.first(digest_bytes));
  if (!equal_in_constant_time(proof(from_acceptor), message.subspan(digest_bytes))) {
    output_.resize(digest_bytes);  // a wrong proof, which tells nothing of the token
    return fail(Errc::refused, format("{} does not know this job's token, or is of another job or "
                                      "generation",
                                      peer_.text()));
  }
  const Digest ours = proof(from_dialer);
  output_.assign(ours.begin(), ours.end());
  expect(State::verdict, verdict_bytes);
  return {};
}

Result<> Handshake::step_proof(ByteSpan message) {
  if (!equal_in_constant_time(proof(from_dialer), message)) {
    return fail(Errc::refused, "wrong token, job or generation");
  }
  state_ = State::proved;
  return {};
}

Result<> Handshake::step_verdict_text(ByteSpan message) {
  const ByteSpan text = message.first(message.size() - frame_mac_bytes);
  const Digest expected = hmac_sha256(key(of_verdict), {text});
  if (!equal_in_constant_time(ByteSpan(expected).first(frame_mac_bytes),
                              message.last(frame_mac_bytes))) {
    return fail(Errc::protocol, "verdict with a wrong MAC");
  }
  if (text[0] == std::byte{0}) {
    return fail(Errc::refused, printable(as_text(text.subspan(verdict_bytes)), UINT8_MAX));
  }
  state_ = State::done;
  return {};
}

Bytes Handshake::take_output() {
  return std::exchange(output_, {});
}

bool Handshake::awaits_verdict() const {
  return state_ == State::verdict || state_ == State::verdict_text;
}

bool Handshake::proved() const {
  return state_ == State::proved;
}

void Handshake::accept_peer() {
  send_verdict(true, "");
}

void Handshake::refuse_peer(std::string_view reason) {
  send_verdict(false, reason);
}

void Handshake::send_verdict(bool accepted, std::string_view reason) {
  assert(proved());
  reason = reason.substr(0, UINT8_MAX);
  Writer verdict;
  verdict.number(accepted).number(static_cast<uint8_t>(reason.size())).raw(as_bytes(reason));
  const Digest mac = hmac_sha256(key(of_verdict), {verdict.view()});
  verdict.raw(ByteSpan(mac).first(frame_mac_bytes));
  output_ = verdict.take();
  state_ = State::done;
}

bool Handshake::done() const {
  return state_ == State::done;
}

const TaskId& Handshake::peer() const {
  return peer_;
}

int64_t Handshake::peer_pid() const {
  return dialer_ ? 0 : pid_;
}

Session Handshake::session() const {
  assert(done());
  const Digest dialers = key(from_dialer);
  const Digest acceptors = key(from_acceptor);
  Session session = dialer_ ? Session(dialers, acceptors) : Session(acceptors, dialers);
  if (!claim_.encrypt_data) return session;
  const Digest data_dialers = key(data_from_dialer);
  const Digest data_acceptors = key(data_from_acceptor);
  session.encrypt_data(dialer_ ? data_dialers : data_acceptors,
                       dialer_ ? data_acceptors : data_dialers);
  return session;
}

Bytes Handshake::transcript() const {
  Writer writer;
  writer.text(handshake_magic).number(handshake_version);
  writer.text(claim_.job).number(claim_.generation).number(claim_.encrypt_data);
  encode(writer, dialer_ ? claim_.self : peer_);
  encode(writer, dialer_ ? peer_ : claim_.self);
  writer.number(pid_).number(attempt_);
  writer.raw(dialer_ ? our_nonce_ : peer_nonce_).raw(dialer_ ? peer_nonce_ : our_nonce_);
  return writer.take();
}

Digest Handshake::proof(std::string_view direction) const {
  return hmac_sha256(claim_.token.secret,
                     {as_bytes("proof of "), as_bytes(direction), transcript()});
}

Digest Handshake::key(std::string_view purpose) const {
  const Digest extracted = hmac_sha256(claim_.token.secret, {as_bytes("keys"), transcript()});
  return hmac_sha256(extracted, {as_bytes("key of "), as_bytes(purpose)});
}

}  // namespace dt
