#include "rendezvous/secure/handshake.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

// Libcrypto registers it with atexit(3).
extern "C" void OPENSSL_cleanup();  // NOLINT(readability-identifier-naming): libcrypto's name

namespace dt {
namespace {

const TaskId worker_3 = {"worker", 3};
const TaskId server_0 = {"launcher", 0};

Token fixed_token(int seed) {
  Token token;
  for (size_t i = 0; i < token.secret.size(); ++i)
    token.secret[i] = static_cast<std::byte>(seed + static_cast<int>(i));
  return token;
}

Claim claim_of(TaskId self) {
  return {fixed_token(1), "job-1", 5, std::move(self)};
}

struct Pair {
  Handshake dialer;
  Handshake acceptor;
};

Pair new_pair(bool encrypt_data = false) {
  Claim dialers = claim_of(worker_3);
  Claim acceptors = claim_of(server_0);
  dialers.encrypt_data = acceptors.encrypt_data = encrypt_data;
  return {Handshake::dial(dialers, server_0).value(), Handshake::accept(acceptors).value()};
}

/// Moves bytes between the two, in pieces of at most `piece`, until neither has any to send.
Result<> exchange(Handshake& dialer, Handshake& acceptor, size_t piece = 1000) {
  const auto feed = [&](Handshake& to, const Bytes& bytes) -> Result<> {
    for (size_t at = 0; at < bytes.size();) {
      const size_t n = std::min(piece, bytes.size() - at);
      const size_t used = TRY(to.receive(ByteSpan(bytes).subspan(at, n)));
      if (used == 0) return fail(Errc::protocol, "bytes left over");
      at += used;
    }
    return {};
  };
  while (true) {
    const Bytes there = dialer.take_output();
    TRY(feed(acceptor, there));
    const Bytes back = acceptor.take_output();
    TRY(feed(dialer, back));
    if (there.empty() && back.empty()) return {};
  }
}

struct Sessions {
  Session dialer;
  Session acceptor;
};

Sessions new_sessions(bool encrypt_data = false) {
  Pair pair = new_pair(encrypt_data);
  REQUIRE(exchange(pair.dialer, pair.acceptor));
  pair.acceptor.accept_peer();
  REQUIRE(exchange(pair.dialer, pair.acceptor));
  return {pair.dialer.session(), pair.acceptor.session()};
}

TEST_CASE("two that know the token prove it to each other and share keys") {
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{1000}}) {
    CAPTURE(piece);
    Pair pair = new_pair();
    REQUIRE(exchange(pair.dialer, pair.acceptor, piece));
    CHECK(pair.acceptor.proved());
    CHECK(!pair.dialer.done());
    CHECK(pair.acceptor.peer() == worker_3);
    CHECK(pair.acceptor.peer_pid() == getpid());
    CHECK(pair.acceptor.peer_attempt() == first_attempt);
    CHECK(pair.dialer.peer() == server_0);
    pair.acceptor.accept_peer();
    REQUIRE(exchange(pair.dialer, pair.acceptor, piece));
    CHECK(pair.dialer.done());
    CHECK(pair.acceptor.done());

    Session there = pair.dialer.session();
    Session back = pair.acceptor.session();
    Bytes wire;
    there.seal(wire, {.type = 9, .generation = 5, .stream = 77}, as_bytes("hello"));
    size_t used = 0;
    const auto frame = back.open(wire, &used).value();
    REQUIRE(frame);
    CHECK(used == wire.size());
    CHECK(frame->header.type == 9);
    CHECK(frame->header.stream == 77);
    CHECK(as_text(frame->payload) == "hello");
  }
}

TEST_CASE("a refusal reaches the dialer with its reason") {
  Pair pair = new_pair();
  REQUIRE(exchange(pair.dialer, pair.acceptor));
  pair.acceptor.refuse_peer("worker:3 already joined (pid 77); second claim from pid 91");
  const Result<> refused = exchange(pair.dialer, pair.acceptor);
  REQUIRE(!refused);
  CHECK(refused.error() ==
        Error{Errc::refused, "worker:3 already joined (pid 77); second claim from pid 91"});
  CHECK(!pair.dialer.done());
}

TEST_CASE("the acceptor reads at most 256 bytes before the proof, with the longest names") {
  const TaskId dialer_id = {std::string(role_bytes_max, 'd'), 1'000'000};
  const TaskId acceptor_id = {std::string(role_bytes_max, 'a'), -1};
  Handshake dialer = Handshake::dial(claim_of(dialer_id), acceptor_id).value();
  Handshake acceptor = Handshake::accept(claim_of(acceptor_id)).value();
  size_t read = 0;
  while (!acceptor.proved()) {
    const Bytes there = dialer.take_output();
    REQUIRE(!there.empty());
    for (size_t at = 0; at < there.size();) {
      const size_t n = std::min(acceptor.wanted(), there.size() - at);
      at += acceptor.receive(ByteSpan(there).subspan(at, n)).value();
    }
    read += there.size();
    REQUIRE(dialer.receive(acceptor.take_output()));
  }
  CHECK(read <= 256);
  CHECK(acceptor.wanted() == 0);
}

TEST_CASE("what follows the handshake is left to its owner") {
  Pair pair = new_pair();
  Bytes hello = pair.dialer.take_output();
  REQUIRE(pair.acceptor.receive(hello));
  REQUIRE(pair.dialer.receive(pair.acceptor.take_output()));
  Bytes proof = pair.dialer.take_output();
  const size_t own = proof.size();
  proof.resize(own + 100);
  CHECK(pair.acceptor.receive(proof).value() == own);
  CHECK(pair.acceptor.receive(ByteSpan(proof).subspan(own)).value() == 0);
}

TEST_CASE("a role's name that does not fit is refused before anything is sent") {
  const Claim claim = claim_of({std::string(role_bytes_max + 1, 'x'), 0});
  CHECK(Handshake::dial(claim, server_0).error().code == Errc::input);
  CHECK(Handshake::dial(claim_of({"", 0}), server_0).error().code == Errc::input);
}

TEST_CASE("another token, job, generation or version is rejected by both sides") {
  struct Case {
    const char* what;
    Claim claim;
  };
  std::vector<Case> cases = {{"token", claim_of(worker_3)},
                             {"job", claim_of(worker_3)},
                             {"generation", claim_of(worker_3)}};
  cases[0].claim.token = fixed_token(2);
  cases[1].claim.job = "job-2";
  cases[2].claim.generation = 4;
  for (const Case& c : cases) {
    CAPTURE(c.what);
    Handshake dialer = Handshake::dial(c.claim, server_0).value();
    Handshake acceptor = Handshake::accept(claim_of(server_0)).value();
    REQUIRE(acceptor.receive(dialer.take_output()));
    const Result<size_t> dialers = dialer.receive(acceptor.take_output());
    REQUIRE(!dialers);
    CHECK(dialers.error().code == Errc::refused);
    const Bytes no_proof = dialer.take_output();
    CHECK(no_proof == Bytes(sizeof(Digest)));
    const Result<size_t> acceptors = acceptor.receive(no_proof);
    REQUIRE(!acceptors);
    CHECK(acceptors.error().code == Errc::refused);
    for (const Error& error : {dialers.error(), acceptors.error()}) {
      CHECK(error.message.find(c.claim.token.text()) == std::string::npos);
      CHECK(error.message.find(fixed_token(1).text()) == std::string::npos);
    }
  }
  Bytes hello = Handshake::dial(claim_of(worker_3), server_0).value().take_output();
  hello[7] = std::byte{1};
  CHECK(Handshake::accept(claim_of(server_0)).value().receive(hello).error().message ==
        "handshake version 1, this build speaks 3");
}

TEST_CASE("a hello for another task is rejected: no task can redirect a dialer") {
  Handshake dialer = Handshake::dial(claim_of(worker_3), {"worker", 5}).value();
  Handshake other = Handshake::accept(claim_of({"worker", 6})).value();
  CHECK(other.receive(dialer.take_output()).error().message ==
        "hello for worker:5, but this is worker:6");
}

TEST_CASE("any changed byte of a handshake ends it") {
  // Which of the four messages, from hello to verdict.
  for (size_t message = 0; message < 4; ++message) {
    for (size_t at = 0;; ++at) {
      Pair pair = new_pair();
      Handshake* const sides[] = {&pair.dialer, &pair.acceptor};
      Result<size_t> received = 0U;
      bool beyond = false;
      for (size_t i = 0; i <= message && received; ++i) {
        if (i == 3) pair.acceptor.accept_peer();
        Bytes bytes = sides[i % 2]->take_output();
        beyond = i == message && at >= bytes.size();
        if (i == message && !beyond) bytes[at] ^= std::byte{0x40};
        received = sides[1 - i % 2]->receive(bytes);
      }
      if (beyond) break;
      CAPTURE(message);
      CAPTURE(at);
      // A changed task or nonce shows by the proofs alone, a changed length by silence.
      if (received) received = exchange(pair.dialer, pair.acceptor) ? 0U : received;
      CHECK(!(pair.dialer.done() && received));
      CHECK(!(pair.acceptor.proved() && message < 3));
    }
  }
}

TEST_CASE("a recorded handshake cannot be replayed") {
  Pair pair = new_pair();
  const Bytes hello = pair.dialer.take_output();
  REQUIRE(pair.acceptor.receive(hello));
  const Bytes challenge = pair.acceptor.take_output();
  REQUIRE(pair.dialer.receive(challenge));
  const Bytes proof = pair.dialer.take_output();
  REQUIRE(pair.acceptor.receive(proof));
  REQUIRE(pair.acceptor.proved());

  Handshake later = Handshake::accept(claim_of(server_0)).value();
  REQUIRE(later.receive(hello));
  CHECK(later.receive(proof).error().code == Errc::refused);
  CHECK(!later.proved());
  // Nor the acceptor's part to another dialer.
  Handshake dialer = Handshake::dial(claim_of(worker_3), server_0).value();
  CHECK(dialer.receive(challenge).error().code == Errc::refused);
}

TEST_CASE("reflected bytes prove nothing") {
  Pair pair = new_pair();
  const Bytes hello = pair.dialer.take_output();
  CHECK(!pair.dialer.receive(ByteSpan(hello).first(64)));
  REQUIRE(pair.acceptor.receive(hello));
  const Bytes challenge = pair.acceptor.take_output();
  CHECK(!pair.acceptor.receive(ByteSpan(challenge).last(32)));
  // A task that dials itself through a mirror: both sides receive each other's messages.
  Handshake self = Handshake::dial(claim_of(worker_3), worker_3).value();
  Handshake mirror = Handshake::dial(claim_of(worker_3), worker_3).value();
  CHECK(!self.receive(ByteSpan(mirror.take_output()).first(64)));
}

TEST_CASE("bytes of other protocols are known by their first wrong byte") {
  for (const char* stranger :
       {"GET / HTTP/1.1\r\n", "\x16\x03\x01\x02", "SSH-2.0-OpenSSH_9.2\r\n", "dtraim\n\x02"}) {
    CAPTURE(stranger);
    Handshake acceptor = Handshake::accept(claim_of(server_0)).value();
    CHECK(acceptor.receive(as_bytes(stranger)).error().message == "not a dtrain handshake");
    CHECK(acceptor.take_output().empty());
  }
}

TEST_CASE("random bytes behind a right beginning never prove anything") {
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    Handshake acceptor = Handshake::accept(claim_of(server_0)).value();
    Bytes bytes = to_bytes("dtrain\n\x02");
    const size_t size = 1 + random() % 300;
    for (size_t i = 0; i < size; ++i)
      bytes.push_back(static_cast<std::byte>(random() % (i < 20 ? 100 : 256)));
    const Result<size_t> used = acceptor.receive(bytes);
    REQUIRE((!used || *used <= handshake_bytes_max));
    REQUIRE(!acceptor.proved());
  }
}

TEST_CASE("a frame opens whole, once, in order, in its own direction") {
  Sessions s = new_sessions();
  Bytes first;
  s.dialer.seal(first, {.type = 1, .generation = 5}, as_bytes("first"));
  Bytes second;
  s.dialer.seal(second, {.type = 1, .generation = 5}, as_bytes("second"));
  size_t used = 1;
  SUBCASE("cut short, it is not there yet") {
    for (size_t n = 0; n < first.size(); ++n) {
      CHECK(!s.acceptor.open(ByteSpan(first).first(n), &used).value());
      CHECK(used == 0);
    }
    CHECK(s.acceptor.open(first, &used).value());
  }
  SUBCASE("replayed, it is refused") {
    CHECK(s.acceptor.open(first, &used).value());
    CHECK(s.acceptor.open(first, &used).error().code == Errc::protocol);
  }
  SUBCASE("out of order, it is refused") {
    CHECK(s.acceptor.open(second, &used).error().code == Errc::protocol);
  }
  SUBCASE("reflected, it is refused") {
    CHECK(s.dialer.open(first, &used).error().code == Errc::protocol);
  }
  SUBCASE("of another connection, it is refused") {
    Sessions other = new_sessions();
    CHECK(other.acceptor.open(first, &used).error().code == Errc::protocol);
  }
  SUBCASE("as a header alone, it is refused") {
    CHECK(s.acceptor.open_header(first, &used).error().code == Errc::protocol);
  }
  SUBCASE("with any changed byte, it never opens") {
    for (size_t at = 0; at < first.size(); ++at) {
      CAPTURE(at);
      Bytes changed = first;
      changed[at] ^= std::byte{1};
      const auto opened = s.acceptor.open(changed, &used);
      CHECK((!opened || !*opened));
    }
  }
}

TEST_CASE("a sealed header covers itself; not its payload") {
  Sessions s = new_sessions();
  const FrameHeader header = {.length = 1U << 30, .type = 2, .generation = 5, .stream = 8};
  const SealedHeader wire = s.dialer.seal_header(header);
  size_t used = 0;
  for (size_t n = 0; n < wire.size(); ++n)
    CHECK(!s.acceptor.open_header(ByteSpan(wire).first(n), &used).value());
  SealedHeader changed = wire;
  changed[1] ^= std::byte{1};
  CHECK(s.acceptor.open_header(changed, &used).error().code == Errc::protocol);
  CHECK(s.acceptor.open_header(wire, &used).value() == header);
  CHECK(used == wire.size());
  CHECK(s.acceptor.open_header(wire, &used).error().code == Errc::protocol);
}

/// Returns the payload, encrypted behind the header.
Bytes sealed_payload(Session& session, const SealedHeader& head, ByteSpan payload) {
  Bytes sealed(payload.size() + payload_tag_bytes);
  session.seal_payload(head, payload, sealed);
  return sealed;
}

TEST_CASE("encrypted payload opens once, in order, behind its header, in its own direction") {
  Sessions s = new_sessions(true);
  REQUIRE(s.dialer.encrypts_data());
  REQUIRE(s.acceptor.encrypts_data());
  const SealedHeader head = s.dialer.seal_header({.length = 5, .type = 2});
  const SealedHeader next = s.dialer.seal_header({.length = 5, .type = 2});
  const Bytes first = sealed_payload(s.dialer, head, as_bytes("first"));
  Bytes second = sealed_payload(s.dialer, next, as_bytes("again"));
  Bytes copy = first;
  SUBCASE("out of order") {
    CHECK(s.acceptor.open_payload(head, second).error().code == Errc::protocol);
  }
  SUBCASE("behind another header") {
    CHECK(s.acceptor.open_payload(next, copy).error().code == Errc::protocol);
  }
  SUBCASE("reflected") {
    CHECK(s.dialer.open_payload(head, copy).error().code == Errc::protocol);
  }
  SUBCASE("replayed") {
    CHECK(as_text(s.acceptor.open_payload(head, copy).value()) == "first");
    copy = first;
    CHECK(s.acceptor.open_payload(head, copy).error().code == Errc::protocol);
    CHECK(as_text(s.acceptor.open_payload(next, second).value()) == "again");
  }
  SUBCASE("in another connection of the same two") {
    Sessions other = new_sessions(true);
    CHECK(other.acceptor.open_payload(head, copy).error().code == Errc::protocol);
  }
}

TEST_CASE("two that do not agree on encryption do not connect") {
  Claim claim = claim_of(worker_3);
  claim.encrypt_data = true;
  Handshake dialer = Handshake::dial(claim, server_0).value();
  Handshake acceptor = Handshake::accept(claim_of(server_0)).value();
  CHECK(exchange(dialer, acceptor).error().code == Errc::refused);
  CHECK(!new_sessions().dialer.encrypts_data());
}

TEST_CASE("frames are sealed and opened after OpenSSL has cleaned up, as during exit") {
  Sessions s = new_sessions(true);
  const pid_t child = fork();
  if (child == 0) {
    OPENSSL_cleanup();
    Bytes wire;
    size_t used = 0;
    s.dialer.seal(wire, {.type = 1, .generation = 5}, as_bytes("control"));
    const bool control = s.acceptor.open(wire, &used).value().has_value();
    const SealedHeader head = s.dialer.seal_header({.length = 10, .type = 2, .generation = 5});
    Bytes body = sealed_payload(s.dialer, head, as_bytes("0123456789"));
    const bool header = s.acceptor.open_header(head, &used).value().has_value();
    const bool data = s.acceptor.open_payload(head, body).has_value();
    _exit(control && header && data ? 0 : 1);
  }
  REQUIRE(child > 0);
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a sealed header with no payload is not a sealed empty frame") {
  Sessions s = new_sessions();
  const SealedHeader wire = s.dialer.seal_header({.type = 2});
  size_t used = 0;
  CHECK(s.acceptor.open(wire, &used).error().code == Errc::protocol);
}

TEST_CASE("the acceptor learns the attempt of the dialer") {
  Claim claim = claim_of(worker_3);
  claim.attempt = 7;
  Handshake dialer = Handshake::dial(claim, server_0).value();
  Handshake acceptor = Handshake::accept(claim_of(server_0)).value();
  REQUIRE(exchange(dialer, acceptor));
  CHECK(acceptor.proved());
  CHECK(acceptor.peer_attempt() == 7);
}

}  // namespace
}  // namespace dt
