#include "comm/engine/peers.h"

#include "base/format.h"

#include <doctest/doctest.h>

#include <memory>
#include <utility>
#include <vector>

namespace dt {
namespace {

constexpr Time start = Time(seconds(100));

/// A link to another host, whose system owes an answer and then is silent.
class SilentLink final : public Link {
 public:
  Result<size_t> send_parts(std::span<const ByteSpan> parts) override {
    size_t sum = 0;
    for (const ByteSpan part : parts)
      sum += part.size();
    return sum;
  }
  Result<size_t> receive(std::span<std::byte> /*into*/) override { return size_t{0}; }
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
};

/// Rank 0 of two, and its link to rank 1 on another host.
struct OneSilentPeer {
  OneSilentPeer() {
    std::vector<Engine::Peer> list(2);
    auto owned = std::make_unique<SilentLink>();
    link = owned.get();
    list[1].task = {.id = {"worker", 1}, .rank = 1, .host = "b", .addresses = {}};
    list[1].link = std::move(owned);
    peers = std::make_unique<Peers>(Engine::Options{.rank = 0, .dead_after = seconds(6)},
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

}  // namespace
}  // namespace dt
