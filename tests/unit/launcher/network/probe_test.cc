#include "launcher/network/probe.h"

#include "tests/unit/connected_to.h"
#include "tests/unit/run_until.h"

#include <doctest/doctest.h>

#include <sys/socket.h>

#include <array>
#include <optional>

namespace dt {
namespace {

std::vector<InterfaceAddress> at(const std::vector<std::string>& ips) {
  std::vector<InterfaceAddress> where;
  for (const std::string& ip : ips)
    where.push_back({"lo", ip});
  return where;
}

std::vector<Address> addresses_of(const ProbeListener& listener) {
  std::vector<Address> addresses;
  for (const ProbeEndpoint& endpoint : listener.endpoints())
    addresses.push_back(endpoint.address);
  return addresses;
}

struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  Token token = Token::random().value();

  std::unique_ptr<ProbeListener> listener(uint32_t number, const std::vector<std::string>& ips) {
    return ProbeListener::open(*loop, {at(ips)}, token, number).value();
  }
  ProbeDialer::Reached call(std::vector<ProbeTarget> targets, Duration patience = seconds(10),
                            Duration head_start = {}) {
    std::optional<ProbeDialer::Reached> reached;
    const ProbeDialer calls(*loop, token,
                            {.targets = std::move(targets),
                             .deadline = Clock::now() + patience,
                             .head_start = head_start},
                            [&reached](ProbeDialer::Reached r) { reached = std::move(r); });
    run_until(*loop, [&reached] { return reached.has_value(); });
    return *reached;
  }
};

TEST_CASE("a call finds the addresses that lead to the machine") {
  Fixture f;
  const auto one = f.listener(1, {"127.0.0.1", "127.0.0.2"});
  const auto two = f.listener(2, {"127.0.0.3", "::1"});
  const std::vector<ProbeTarget> all = {{1, addresses_of(*one)}, {2, addresses_of(*two)}};
  CHECK(f.call(all) == all);
}

TEST_CASE("an address at which another machine answers does not count") {
  Fixture f;
  const auto one = f.listener(1, {"127.0.0.1"});
  const auto two = f.listener(2, {"127.0.0.1", "127.0.0.2"});
  // Like with container bridges: both machines have the address of machine 1.
  const Address wrong = addresses_of(*one)[0];
  const Address right = addresses_of(*two)[1];
  CHECK(f.call({{2, {wrong, right}}}) == ProbeDialer::Reached{{2, {right}}});
}

TEST_CASE("another job's machine does not count") {
  Fixture f;
  const Token other = Token::random().value();
  const auto theirs = ProbeListener::open(*f.loop, {at({"127.0.0.1"})}, other, 1).value();
  CHECK(f.call({{1, addresses_of(*theirs)}}) == ProbeDialer::Reached{{1, {}}});
}

TEST_CASE("a refused or silent address does not count, and the dialer does not wait for it") {
  Fixture f;
  const Fd silent = listen_on({"127.0.0.1", 0}).value();
  const Address quiet = local_address(silent.get()).value();
  const Address nobody = [] {
    const Fd gone = listen_on({"127.0.0.1", 0}).value();
    return local_address(gone.get()).value();
  }();
  const auto one = f.listener(1, {"127.0.0.1"});
  const Address good = addresses_of(*one)[0];
  CHECK(f.call({{1, {nobody, quiet, good}}}) == ProbeDialer::Reached{{1, {good}}});
  CHECK(f.call({{1, {nobody, quiet}}}, milliseconds(50)) == ProbeDialer::Reached{{1, {}}});
  CHECK(f.call({}) == ProbeDialer::Reached{});
}

TEST_CASE("after a good first address the others are not dialed") {
  Fixture f;
  const auto one = f.listener(1, {"127.0.0.1", "127.0.0.2"});
  const std::vector<Address> both = addresses_of(*one);
  CHECK(f.call({{1, both}}, seconds(10), seconds(20)) == ProbeDialer::Reached{{1, {both[0]}}});
}

TEST_CASE("after a refused, wrong or silent first address the others are dialed") {
  Fixture f;
  const Fd silent = listen_on({"127.0.0.1", 0}).value();
  const Address nobody = [] {
    const Fd gone = listen_on({"127.0.0.1", 0}).value();
    return local_address(gone.get()).value();
  }();
  const auto one = f.listener(1, {"127.0.0.1", "127.0.0.2"});
  const auto two = f.listener(2, {"127.0.0.1"});
  const std::vector<Address> good = addresses_of(*one);
  for (const Address& bad : {nobody, addresses_of(*two)[0]}) {
    CAPTURE(bad.text());
    CHECK(f.call({{1, {bad, good[0], good[1]}}}, seconds(10), seconds(20)) ==
          ProbeDialer::Reached{{1, good}});
  }
  const Address quiet = local_address(silent.get()).value();
  CHECK(f.call({{1, {quiet, good[0]}}}, seconds(10), milliseconds(1)) ==
        ProbeDialer::Reached{{1, {good[0]}}});
}

TEST_CASE("a nonce may arrive in pieces, and its connection ends with the proof") {
  Fixture f;
  const auto listener = f.listener(1, {"127.0.0.1"});
  const Fd caller = connected_to(listener->endpoints().at(0).address);
  const std::array<std::byte, probe_nonce_bytes> nonce = {};
  CHECK(::send(caller.get(), nonce.data(), 5, MSG_NOSIGNAL) == 5);
  run_until(*f.loop, [&listener] { return listener->callers() == 1; });
  CHECK(::send(caller.get(), nonce.data() + 5, nonce.size() - 5, MSG_NOSIGNAL) == 11);
  run_until(*f.loop, [&listener] { return listener->callers() == 0; });
  std::array<std::byte, 64> answer;
  CHECK(::recv(caller.get(), answer.data(), answer.size(), 0) == sizeof(Digest));
  CHECK(::recv(caller.get(), answer.data(), answer.size(), 0) == 0);
}

/// A connection that sends nothing.
Fd stranger_at(const ProbeListener& listener) {
  return connected_to(listener.endpoints().at(0).address);
}

bool has_ended(const Fd& socket) {
  char byte = 0;
  return ::recv(socket.get(), &byte, 1, MSG_DONTWAIT) == 0;
}

TEST_CASE("beyond the bound the oldest caller is closed, and a true dialer is answered") {
  Fixture f;
  const auto listener =
      ProbeListener::open(*f.loop, {at({"127.0.0.1"})}, f.token, 1, {.callers_max = 4}).value();
  std::vector<Fd> strangers;
  for (int i = 0; i < 4; ++i)
    strangers.push_back(stranger_at(*listener));
  run_until(*f.loop, [&listener] { return listener->callers() >= 4; });
  CHECK(f.call({{1, addresses_of(*listener)}}).at(0).addresses.size() == 1);
  CHECK(has_ended(strangers.front()));
  CHECK(!has_ended(strangers.back()));
}

TEST_CASE("one round accepts a bounded number of callers") {
  Fixture f;
  const auto listener = f.listener(1, {"127.0.0.1"});
  std::vector<Fd> strangers;
  for (int i = 0; i < 70; ++i)
    strangers.push_back(stranger_at(*listener));
  REQUIRE(f.loop->run_once(Clock::now()));
  CHECK(listener->callers() == 64);
  REQUIRE(f.loop->run_once(Clock::now()));
  CHECK(listener->callers() == 70);
}

TEST_CASE("a caller that sends nothing is closed when its time is over") {
  Fixture f;
  const auto listener =
      ProbeListener::open(*f.loop, {at({"127.0.0.1"})}, f.token, 1, {.patience = milliseconds(1)})
          .value();
  const Fd stranger = stranger_at(*listener);
  run_until(*f.loop, [&stranger] { return has_ended(stranger); });
  CHECK(listener->callers() == 0);
}

TEST_CASE("ProbeListener listens at a held port, and frees it for others") {
  Fixture f;
  const Fd held = hold_port(0).value();
  const uint16_t port = local_address(held.get()).value().port;
  auto listener =
      ProbeListener::open(*f.loop, {at({"127.0.0.1", "127.0.0.2"}), port}, f.token, 1).value();
  const std::vector<ProbeTarget> all = {{1, addresses_of(*listener)}};
  CHECK(all[0].addresses == std::vector<Address>{{"127.0.0.1", port}, {"127.0.0.2", port}});
  CHECK(f.call(all) == all);
  listener.reset();
  CHECK(check_no_listener(port));
  CHECK(listen_on({"127.0.0.1", port}));
}

TEST_CASE("addresses that this machine does not have are left out") {
  Fixture f;
  const auto listener =
      ProbeListener::open(*f.loop, {{{"eth0", "192.0.2.1"}, {"lo", "127.0.0.1"}}}, f.token, 1)
          .value();
  REQUIRE(listener->endpoints().size() == 1);
  CHECK(listener->endpoints()[0].address.ip == "127.0.0.1");
  CHECK(listener->endpoints()[0].interface == "lo");
  CHECK_FALSE(ProbeListener::open(*f.loop, {at({"192.0.2.1"})}, f.token, 1));
}

}  // namespace
}  // namespace dt
