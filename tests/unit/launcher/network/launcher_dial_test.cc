#include "launcher/network/launcher_dial.h"

#include "base/io/log.h"
#include "rendezvous/secure/acceptor.h"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

namespace dt {
namespace {

/// A launcher in a thread of its own, which takes the agents of an order.
class Launcher {
 public:
  explicit Launcher(const DialOrder& order, std::string refusal = "")
      : refusal_(std::move(refusal)) {
    acceptor_ =
        Acceptor::listen(
            *loop_,
            {.address = {"127.0.0.1", 0}, .claim = order.claim_of({std::string(launcher_role), 0})},
            quiet_,
            [this](Fd connection, Handshake handshake) {
              peer_ = handshake.peer();
              if (refusal_.empty()) handshake.accept_peer();
              if (!refusal_.empty()) handshake.refuse_peer(refusal_);
              CHECK(write_all(connection.get(), handshake.take_output()).has_value());
              accepted_ = std::move(connection);
            })
            .value();
    address_ = acceptor_->address();
    thread_ = std::thread([this] {
      while (!ended_)
        CHECK(loop_->run_once(Clock::now() + milliseconds(10)).has_value());
    });
  }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  ~Launcher() { end(); }

  const Address& address() const { return address_; }
  /// Ends the thread, and returns the agent that has dialed last.
  TaskId end() {
    ended_ = true;
    if (thread_.joinable()) thread_.join();
    return peer_;
  }

 private:
  std::string refusal_;
  std::unique_ptr<Loop> loop_ = Loop::create().value();
  Log quiet_{Log::Level::quiet, [](std::string_view) {}};
  TaskId peer_;
  Fd accepted_;
  std::unique_ptr<Acceptor> acceptor_;
  Address address_;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

DialOrder order_of(std::vector<std::string> hosts) {
  return {.token = Token::random().value(),
          .job = "job",
          .hosts = std::move(hosts),
          .addresses = {},
          .patience = seconds(60),
          .dead_after = seconds(60)};
}

Address closed_port(const char* ip = "127.0.0.1") {
  const Fd gone = listen_on({ip, 0}).value();
  return local_address(gone.get()).value();
}

TEST_CASE("dial_launcher: the first address that proves the token wins") {
  DialOrder order = order_of({"n1", "n2"});
  Launcher launcher(order);
  DialOrder strange = order_of({"n1", "n2"});
  const Launcher stranger(strange);
  const Fd silent = listen_on({"127.0.0.1", 0}).value();
  order.addresses = {closed_port(), stranger.address(), local_address(silent.get()).value(),
                     launcher.address()};
  const auto dialed = dial_launcher(order, "n2");
  REQUIRE_MESSAGE(dialed.has_value(), dialed.error().message);
  CHECK(dialed->session.encrypts_data());
  CHECK(launcher.end().text() == "agent:1");
}

TEST_CASE("dial_launcher: it ends before its time when nobody listens at any address") {
  DialOrder order = order_of({"n1"});
  order.addresses = {closed_port(), closed_port()};
  order.patience = std::chrono::hours(1);
  const auto dialed = dial_launcher(order, "n1");
  REQUIRE_FALSE(dialed.has_value());
  CHECK(dialed.error().code == Errc::refused);
  CHECK(dialed.error().message.starts_with("dtrain refuses the agent of n1, or has ended: "));
}

TEST_CASE("dial_launcher: an address that nothing reaches does not keep the agent of a dead job") {
  DialOrder order = order_of({"n1"});
  // A broadcast address: the kernel connects to none.
  const Address unreachable = {"255.255.255.255", 1};
  order.addresses = {unreachable, closed_port("127.0.0.2")};
  order.patience = seconds(20);
  CHECK(dial_launcher(order, "n1").error().code == Errc::refused);
  // An address of this machine as well: it may be another one than the launcher's.
  order.addresses = {unreachable, closed_port()};
  order.patience = seconds(2);
  CHECK(dial_launcher(order, "n1").error().code == Errc::unreachable);
}

TEST_CASE("dial_launcher: a refusal is final, and has its reason") {
  DialOrder order = order_of({"n1"});
  const Launcher launcher(order, "an agent of n1 has connected before");
  order.addresses = {launcher.address()};
  const auto dialed = dial_launcher(order, "n1");
  REQUIRE_FALSE(dialed.has_value());
  CHECK(dialed.error().code == Errc::refused);
  CHECK(dialed.error().message ==
        "dtrain refuses the agent of n1, or has ended: " + launcher.address().text() +
            " (an agent of n1 has connected before)");
}

TEST_CASE("dial_launcher: all addresses are named when none answers, and a strange host is") {
  DialOrder order = order_of({"n1", "n2"});
  const Fd silent = listen_on({"127.0.0.1", 0}).value();
  order.addresses = {closed_port(), local_address(silent.get()).value()};
  order.patience = milliseconds(400);
  const auto dialed = dial_launcher(order, "n1");
  REQUIRE_FALSE(dialed.has_value());
  CHECK(dialed.error().code == Errc::unreachable);
  for (const Address& address : order.addresses)
    CHECK(dialed.error().message.find(address.text()) != std::string::npos);
  const auto strange = dial_launcher(order, "m7");
  CHECK(strange.error() == Error{Errc::input, "this job has no host m7; it has n1, n2"});
}

}  // namespace
}  // namespace dt
