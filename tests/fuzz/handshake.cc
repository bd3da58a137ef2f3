// Two that shake hands and talk, and somebody between them. The first byte says who hears what:
// the acceptor or the dialer strange bytes alone, or both each other's with bytes changed, or a
// session's frames with bytes changed. (Nonces are fresh each time; what is checked holds for all.)

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

/// Who does not know the token proves nothing, whatever it says, and is heard for 256 bytes.
void hear_stranger(Handshake side, Reader& input) {
  size_t heard = 0;
  while (side.wanted() > 0 && !input.rest().empty()) {
    const ByteSpan piece = input.raw(std::min<size_t>(input.rest().size(), 1 + heard % 7));
    for (size_t at = 0; at < piece.size() && side.wanted() > 0;) {
      const auto used = side.receive(piece.subspan(at));
      if (!used) return check_message(used.error());
      assert(*used > 0);
      at += *used;
      heard += *used;
    }
    static_cast<void>(side.take_output());
    assert(!side.proved() && !side.done());
    assert(heard + side.wanted() <= handshake_bytes_max);
  }
}

/// Changes one byte of a message, or cuts it, as the input says; none when it says nothing.
class Meddler {
 public:
  explicit Meddler(Reader& input) : input_(input) {}

  Bytes pass(Bytes message) {
    const size_t at = input_.number<uint8_t>();
    const auto change = input_.number<std::byte>();
    if (change == std::byte{0} || at > message.size()) return message;
    meddled_ = true;
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
  bool meddled() const { return meddled_; }
  /// Not counting what was only made longer, which its receiver sees with the next message.
  bool changed() const { return changed_; }

 private:
  Reader& input_;
  bool meddled_ = false;
  bool changed_ = false;
};

/// False when the receiver refuses it, or waits for what does not come.
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

/// Both ends' sessions, when nobody was refused.
std::optional<Sessions> shake_hands(Meddler& between) {
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
  assert(!between.meddled());
  return Sessions{dialer.session(), acceptor.session()};
}

/// What was opened is what was sealed, in order; anything changed is refused.
void talk(Sessions sessions, Reader& input) {
  Meddler between(input);
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
      sessions.dialer.seal_header(sealed, header);
    } else {
      sessions.dialer.seal(sealed, header, payload);
    }
    sealed = between.pass(std::move(sealed));
    size_t used = 0;
    if (header_only) {
      const auto opened = sessions.acceptor.open_header(sealed, &used);
      if (!opened || !*opened) return assert(between.meddled());
      assert(**opened == header);
    } else {
      const auto opened = sessions.acceptor.open(sealed, &used);
      if (!opened || !*opened) return assert(between.meddled());
      assert((*opened)->header == header && std::ranges::equal((*opened)->payload, payload));
    }
  }
}

}  // namespace

void fuzz_one(ByteSpan bytes) {
  Reader input(bytes);
  switch (input.number<uint8_t>()) {
    case 'a':
      return hear_stranger(new_acceptor(), input);
    case 'd':
      return hear_stranger(new_dialer(), input);
    case 'h': {
      Meddler between(input);
      static_cast<void>(shake_hands(between));
      return;
    }
    default: {
      Reader nothing(ByteSpan{});
      Meddler nobody(nothing);
      return talk(shake_hands(nobody).value(), input);
    }
  }
}

}  // namespace dt
