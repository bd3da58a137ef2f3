#include "launcher/ssh/dialer.h"

#include "base/format.h"
#include "tests/unit/run_until.h"

#include <doctest/doctest.h>

#include <optional>

namespace dt {
namespace {

struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  Fd listener = listen_on({"127.0.0.1", 0}).value();
  Fd held = hold_port(0).value();
  Address here = local_address(listener.get()).value();
  Address nobody = {"127.0.0.1", local_address(held.get()).value().port};
  std::optional<Result<Fd>> result;

  const Result<Fd>& dial(Dialer::Target target) {
    Dialer dialer(*loop, std::move(target), [&](Result<Fd> socket) { result = std::move(socket); });
    run_until(*loop, [this] { return result.has_value(); });
    return *result;
  }
};

TEST_CASE("the first address that answers is taken, whatever the result of those before it") {
  Fixture fixture;
  const auto& socket = fixture.dial(
      {.addresses = {{"not an address", 1}, fixture.nobody, fixture.here, fixture.nobody}});
  REQUIRE(socket);
  CHECK(peer_address(socket->get()).value() == fixture.here);
}

TEST_CASE("an address that swallows packets does not keep the next one waiting for good") {
  Fixture fixture;
  // No process accepts here, so connections wait once the queue of one is full.
  const Fd deaf = listen_on({"127.0.0.1", 0}).value();
  REQUIRE(listen(deaf.get(), 0) == 0);
  const Address silent = local_address(deaf.get()).value();
  const Fd first = start_connect(silent).value();
  const Fd second = start_connect(silent).value();
  const auto& socket = fixture.dial({.addresses = {silent, fixture.here}});
  REQUIRE(socket);
  CHECK(peer_address(socket->get()).value() == fixture.here);
}

TEST_CASE("when no address answers, the error lists each") {
  Fixture fixture;
  const std::string refused =
      format("cannot connect to {}: Connection refused", fixture.nobody.text());
  const auto& two = fixture.dial({.addresses = {fixture.nobody, {"x", 1}}});
  CHECK(two.error() == Error{Errc::unreachable, refused + "; 'x' is no IP address"});
  fixture.result.reset();
  const auto& many = fixture.dial({.addresses = std::vector<Address>(7, fixture.nobody)});
  CHECK(many.error().message == format("{0}; {0}; {0}; {0}; and 3 more", refused));
  CHECK(many.error().code == Errc::refused);
  fixture.result.reset();
  CHECK(fixture.dial({}).error() == Error{Errc::unreachable, "the host has no address"});
}

TEST_CASE("a dialer may be destroyed by what it calls, also for a host without addresses") {
  Fixture fixture;
  const std::vector<std::vector<Address>> hosts = {{}, {fixture.nobody}, {fixture.here}};
  for (const std::vector<Address>& addresses : hosts) {
    CAPTURE(addresses.size());
    std::unique_ptr<Dialer> dialer;
    const auto captured = std::make_shared<int>(0);
    long owners = 0;
    dialer = std::make_unique<Dialer>(*fixture.loop, Dialer::Target{.addresses = addresses},
                                      [captured, &dialer, &owners](const Result<Fd>&) {
                                        long& after = owners;
                                        const std::shared_ptr<int>& ours = captured;
                                        dialer.reset();
                                        after = ours.use_count();
                                      });
    run_until(*fixture.loop, [&dialer] { return dialer == nullptr; });
    // One owner is the test, one the function that still runs.
    CHECK(owners == 2);
  }
}

TEST_CASE("a connection comes from the address that is asked for") {
  Fixture fixture;
  const auto& socket = fixture.dial({.addresses = {fixture.here}, .from_ip = "127.0.0.9"});
  REQUIRE(socket);
  CHECK(local_address(socket->get()).value().ip == "127.0.0.9");
}

}  // namespace
}  // namespace dt
