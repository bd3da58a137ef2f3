// The handshake and the session of a dialer and an acceptor, with an attacker. The first byte of
// the input chooses the run. After 'a' or 'd', the acceptor or the dialer receives the rest as its
// peer's bytes. After 'h', both shake hands, and the input changes their messages. After any other
// byte, both have a session, and the input changes its frames. Each run has fresh nonces, and the
// assertions hold for all nonces.

#include "rendezvous/secure/handshake.h"

#include "tests/fuzz/fuzz.h"

#include <optional>
#include <utility>

namespace dt {
namespace {

const TaskId worker = {"worker", 3};
const TaskId server = {std::string(launcher_role), 0};

Claim claim_of(TaskId self) {
  Token token;
  token.secret.fill(std::byte{0x5A});
  return {token, "job", 5, std::move(self)};
}

Handshake new_dialer() {
  return Handshake::dial(claim_of(worker), server).value();
}
Handshake new_acceptor() {
  return Handshake::accept(claim_of(server)).value();
}

/// A peer without the token never proves itself, and is refused within 256 bytes.
void receive_from_stranger(Handshake side, Reader& input) {
  size_t received = 0;
  while (side.wanted() > 0 && !input.rest().empty()) {
    const ByteSpan piece = input.raw(std::min<size_t>(input.rest().size(), 1 + received % 7));
    for (size_t at = 0; at < piece.size() && side.wanted() > 0;) {
      const auto used = side.receive(piece.subspan(at));
      if (!used) return check_message(used.error());
      assert(*used > 0);
      at += *used;
      received += *used;
    }
    static_cast<void>(side.take_output());
    assert(!side.proved() && !side.done());
    assert(received + side.wanted() <= handshake_bytes_max);
  }
}

/// Changes a byte of a message, cuts it, or appends a byte, as the input commands. Once the input
/// is used up, messages pass unchanged.
class Attacker {
 public:
  explicit Attacker(Reader& input) : input_(input) {}

  Bytes pass(Bytes message) {
    const size_t at = input_.number<uint8_t>();
    const auto change = input_.number<std::byte>();
    if (change == std::byte{0} || at > message.size()) return message;
    touched_ = true;
    changed_ = changed_ || at < message.size();
    if (at == message.size()) {
      message.push_back(change);
    } else if (change == std::byte{0xFF}) {
      message.resize(at);
    } else {
      message[at] ^= change;
    }
    return message;
  }
  /// True once a message was changed, cut or made longer.
  bool touched() const { return touched_; }
  /// True once a message was changed or cut. The receiver of a longer message takes the extra byte
  /// for a part of the next message.
  bool changed() const { return changed_; }

 private:
  Reader& input_;
  bool touched_ = false;
  bool changed_ = false;
};

/// Returns false when the receiver refuses the message, or does not take all of it.
bool deliver(Handshake& to, const Bytes& message) {
  size_t at = 0;
  while (at < message.size() && to.wanted() > 0) {
    const auto used = to.receive(ByteSpan(message).subspan(at));
    if (!used) {
      check_message(used.error());
      return false;
    }
    at += *used;
  }
  return at == message.size();
}

struct Sessions {
  Session dialer;
  Session acceptor;
};

/// Returns the sessions of both ends; nothing when an end refuses the other.
std::optional<Sessions> shake_hands(Attacker& between) {
  Handshake dialer = new_dialer();
  Handshake acceptor = new_acceptor();
  if (!deliver(acceptor, between.pass(dialer.take_output()))) return std::nullopt;
  if (!deliver(dialer, between.pass(acceptor.take_output()))) return std::nullopt;
  if (!deliver(acceptor, between.pass(dialer.take_output()))) return std::nullopt;
  if (!acceptor.proved()) return std::nullopt;
  assert(!between.changed());
  assert(acceptor.peer() == worker);
  acceptor.accept_peer();
  if (!deliver(dialer, between.pass(acceptor.take_output())) || !dialer.done()) {
    return std::nullopt;
  }
  assert(!between.touched());
  return Sessions{dialer.session(), acceptor.session()};
}

/// The acceptor opens exactly the frames that the dialer has sealed, in their order. It refuses a
/// frame that the attacker has changed.
void exchange_frames(Sessions sessions, Reader& input) {
  Attacker between(input);
  for (uint32_t number = 0; !input.rest().empty(); ++number) {
    const ByteSpan payload =
        input.raw(std::min<size_t>(input.number<uint8_t>(), input.rest().size()));
    const bool header_only = number % 3 == 2;
    const FrameHeader header = {.length = static_cast<uint32_t>(payload.size()),
                                .type = 7,
                                .generation = 5,
                                .stream = number};
    Bytes sealed;
    if (header_only) {
      const SealedHeader bytes = sessions.dialer.seal_header(header);
      sealed.assign(bytes.begin(), bytes.end());
    } else {
      sessions.dialer.seal(sealed, header, payload);
    }
    sealed = between.pass(std::move(sealed));
    size_t used = 0;
    if (header_only) {
      const auto opened = sessions.acceptor.open_header(sealed, &used);
      if (!opened || !*opened) return assert(between.touched());
      assert(**opened == header);
    } else {
      const auto opened = sessions.acceptor.open(sealed, &used);
      if (!opened || !*opened) return assert(between.touched());
      assert((*opened)->header == header && std::ranges::equal((*opened)->payload, payload));
    }
  }
}

}  // namespace

void fuzz_one(ByteSpan bytes) {
  Reader input(bytes);
  switch (input.number<uint8_t>()) {
    case 'a':
      return receive_from_stranger(new_acceptor(), input);
    case 'd':
      return receive_from_stranger(new_dialer(), input);
    case 'h': {
      Attacker between(input);
      static_cast<void>(shake_hands(between));
      return;
    }
    default: {
      Reader nothing(ByteSpan{});
      Attacker idle(nothing);
      return exchange_frames(shake_hands(idle).value(), input);
    }
  }
}

}  // namespace dt
