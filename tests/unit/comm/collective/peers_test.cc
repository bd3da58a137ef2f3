#include "comm/collective/peers.h"

#include "base/format.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

constexpr Time start = Time(seconds(100));

/// A link to another host. Its system may owe an answer, be silent, or send bytes.
class SilentLink final : public Link {
 public:
  void connect() override { asked = true; }
  Result<bool> connected() const override {
    if (!failure.empty()) return fail(Errc::timeout, failure);
    return open;
  }
  Result<size_t> send_parts(std::span<const ByteSpan> parts) override {
    size_t sum = 0;
    for (const ByteSpan part : parts)
      sum += part.size();
    return sum;
  }
  Result<size_t> receive(std::span<std::byte> into) override {
    if (arrived.empty() && ended) return fail(Errc::closed, "the connection was closed");
    const size_t size = std::min(into.size(), arrived.size());
    std::copy_n(arrived.begin(), size, into.begin());
    arrived.erase(arrived.begin(), arrived.begin() + static_cast<ptrdiff_t>(size));
    return size;
  }
  Result<bool> check_answers(Duration silence_max) override {
    ++checks;
    if (silent) return fail(Errc::timeout, format("no answer for {} s", silence_max / seconds(1)));
    return due;
  }
  void close() override {}
  bool exposed() const override { return true; }

  int checks = 0;
  bool due = true;
  bool silent = false;
  bool open = true;
  bool asked = false;
  std::string failure;
  Bytes arrived;
  bool ended = false;
};

/// Counts control messages.
class Counter final : public MessageReceiver {
 public:
  Result<> control(const Message& /*message*/, ByteSpan /*payload*/) override {
    ++messages;
    return {};
  }
  Result<PayloadTarget> place(const Message& /*message*/) override { return PayloadTarget{}; }
  Result<> arrived(const Message& /*message*/) override { return {}; }
  int messages = 0;
};

/// Rank 0 of two, and its link to rank 1 on another host.
struct OneSilentPeer {
  explicit OneSilentPeer(bool open = true) {
    std::vector<EnginePeer> list(2);
    auto owned = std::make_unique<SilentLink>();
    link = owned.get();
    link->open = open;
    list[1].task = {.id = {"worker", 1}, .rank = 1, .host = "b", .addresses = {}};
    list[1].link = std::move(owned);
    peers = std::make_unique<Peers>(EngineOptions{.rank = 0, .dead_after = seconds(6)},
                                    std::move(list));
  }
  void send(Time now) {
    peers->send(1, EngineMessageType::accept, 3, {});
    CHECK(peers->flush(now));
  }

  SilentLink* link = nullptr;
  std::unique_ptr<Peers> peers;
};

TEST_CASE("a link with bytes under way is checked each second until all are acknowledged") {
  OneSilentPeer one;
  CHECK(one.peers->next_deadline() == Time::max());
  one.send(start);
  CHECK(one.peers->next_deadline() == start + milliseconds(200));
  one.send(start + milliseconds(100));
  one.peers->settle(start + milliseconds(199));
  CHECK(one.link->checks == 0);
  one.peers->settle(start + milliseconds(200));
  CHECK(one.link->checks == 1);
  CHECK(one.peers->next_deadline() == start + milliseconds(1200));
  one.link->due = false;
  one.peers->settle(start + milliseconds(1200));
  CHECK(one.link->checks == 2);
  CHECK(one.peers->next_deadline() == Time::max());
  CHECK(!one.peers->gone(1));
}

TEST_CASE("a peer whose system is silent is gone at once, with the time of its silence") {
  OneSilentPeer one;
  one.send(start);
  one.link->silent = true;
  one.peers->settle(start + seconds(5));
  CHECK(one.peers->gone(1));
  CHECK(one.peers->gone_reason(1) == "connection to rank 1 (host b) lost: no answer for 6 s");
}

TEST_CASE("what a peer sent before it left is read, however late the network delivers it") {
  OneSilentPeer one;
  Counter counter;
  one.peers->left(1, start);
  Time now = start + seconds(100);
  one.peers->settle(now);
  CHECK(!one.peers->gone(1));
  append_frame(one.link->arrived, {.type = 1}, {});
  CHECK(one.peers->receive(counter, now));
  CHECK(counter.messages == 1);
  now += seconds(100);
  one.peers->settle(now);
  CHECK(!one.peers->gone(1));
  append_frame(one.link->arrived, {.type = 1}, {});
  one.link->ended = true;
  CHECK(one.peers->receive(counter, now));
  one.peers->settle(now);
  CHECK(counter.messages == 2);
  CHECK(one.peers->gone(1));
  CHECK(one.peers->gone_reason(1) == "rank 1 (host b) has left the job");
}

TEST_CASE("a peer that left before its link connected is gone at once") {
  OneSilentPeer one(false);
  one.peers->left(1, start);
  CHECK(one.peers->next_deadline() == start);
  one.peers->settle(start);
  CHECK(one.peers->gone(1));
  CHECK(one.peers->gone_reason(1) == "rank 1 (host b) has left the job");
}

TEST_CASE("a link that cannot connect makes its peer gone at once, with the reason") {
  for (const bool sends : {false, true}) {
    OneSilentPeer one(false);
    Counter counter;
    if (sends) one.peers->send(1, EngineMessageType::accept, 3, {});
    one.link->failure = "cannot connect to 10.0.0.2:4711: No route to host";
    if (sends) CHECK(one.peers->flush(start));
    if (!sends) CHECK(one.peers->receive(counter, start));
    one.peers->settle(start);
    CHECK(one.peers->gone(1));
    CHECK(one.peers->gone_reason(1) ==
          "connection to rank 1 (host b) lost: cannot connect to 10.0.0.2:4711: No route to host");
  }
}

TEST_CASE("a link connects for messages that must arrive, and for a rank that waits") {
  OneSilentPeer one(false);
  one.peers->send_all(EngineMessageType::aborted, 0, {}, Recipients::connected);
  CHECK(!one.peers->flush(start));
  CHECK(!one.link->asked);
  CHECK(one.peers->all_sent());
  one.peers->connect(1);
  CHECK(one.link->asked);

  OneSilentPeer other(false);
  other.peers->send_all(EngineMessageType::stop, 0, {});
  CHECK(!other.peers->flush(start));
  CHECK(other.link->asked);
  CHECK(!other.peers->all_sent());
  other.link->open = true;
  CHECK(other.peers->flush(start));
  CHECK(other.peers->all_sent());
}

TEST_CASE("a peer that left, and whose forked child holds the socket, is gone after two minutes") {
  OneSilentPeer one;
  Counter counter;
  one.peers->left(1, start);
  CHECK(one.peers->next_deadline() == start + seconds(120));
  CHECK(!one.peers->receive(counter, start + seconds(120)));
  one.peers->settle(start + seconds(120));
  CHECK(one.peers->gone(1));
}

}  // namespace
}  // namespace dt
