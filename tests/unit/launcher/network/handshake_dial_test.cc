#include "launcher/network/handshake_dial.h"

#include "base/io/log.h"
#include "rendezvous/secure/acceptor.h"
#include "tests/unit/run_until.h"

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>

namespace dt {
namespace {

const TaskId dialer = {"agent", 1};
const TaskId listener = {"launcher", 0};

struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  Token token = Token::random().value();
  Log quiet{Log::Level::quiet, [](std::string_view) {}};
  std::string refusal = {};  ///< empty: the listener accepts
  Fd accepted = {};
  std::unique_ptr<Acceptor> acceptor =
      Acceptor::listen(*loop, {.address = {"127.0.0.1", 0}, .claim = {token, "job", 1, listener}},
                       quiet,
                       [this](Fd connection, Handshake handshake) {
                         if (refusal.empty()) handshake.accept_peer();
                         if (!refusal.empty()) handshake.refuse_peer(refusal);
                         CHECK(write_all(connection.get(), handshake.take_output()).has_value());
                         accepted = std::move(connection);
                       })
          .value();

  Result<Dialed> dial(const Address& address, const Claim& claim, Duration patience = seconds(30)) {
    std::optional<Result<Dialed>> result;
    const HandshakeDial dial(
        *loop, {.address = address, .peer = listener, .deadline = Clock::now() + patience}, claim,
        [&result](Result<Dialed> done) { result = std::move(done); });
    run_until(*loop, [&result] { return result.has_value(); });
    return *std::move(result);
  }
};

TEST_CASE_FIXTURE(Fixture, "HandshakeDial returns the connection and its session") {
  const auto dialed = dial(acceptor->address(), {token, "job", 1, dialer});
  REQUIRE(dialed.has_value());
  CHECK(peer_address(dialed->connection.get()).value() == acceptor->address());
  CHECK(accepted);
}

TEST_CASE_FIXTURE(Fixture, "HandshakeDial has the reason of a listener that refuses the dialer") {
  refusal = "an agent of n1 has connected before";
  const auto dialed = dial(acceptor->address(), {token, "job", 1, dialer});
  REQUIRE_FALSE(dialed.has_value());
  CHECK(dialed.error() == Error{Errc::refused, refusal});
}

TEST_CASE_FIXTURE(Fixture, "HandshakeDial fails with another token, without a listener or answer") {
  const Claim stranger = {Token::random().value(), "job", 1, dialer};
  CHECK(dial(acceptor->address(), stranger).error().code == Errc::refused);
  const Claim claim = {token, "job", 1, dialer};
  const Fd silent = listen_on({"127.0.0.1", 0}).value();
  const Address address = local_address(silent.get()).value();
  const auto waited = dial(address, claim, milliseconds(50));
  CHECK(waited.error().code == Errc::timeout);
  CHECK_FALSE(dial({"no address", 1}, claim).has_value());
  const Address nobody = [] {
    const Fd gone = listen_on({"127.0.0.1", 0}).value();
    return local_address(gone.get()).value();
  }();
  CHECK_FALSE(dial(nobody, claim).has_value());
}

}  // namespace
}  // namespace dt
